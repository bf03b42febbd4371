/** Pictures of the server for its own pages, whose policy lets in no image of that host: each is fetched once. */

const pictures = new Map<string, Promise<string>>();

/** A picture of the server as a URL of this page; "": it cannot be loaded. */
export function loadPicture(url: URL): Promise<string> {
  let picture = pictures.get(url.href);
  if (picture === undefined) pictures.set(url.href, (picture = fetchPicture(url)));
  return picture;
}

async function fetchPicture(url: URL): Promise<string> {
  try {
    const answer = await fetch(url);
    return answer.ok ? URL.createObjectURL(await answer.blob()) : '';
  } catch {
    return '';
  }
}
