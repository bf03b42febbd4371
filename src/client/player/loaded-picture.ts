/** The server's pictures on its own pages, whose policy allows no image from the server itself: each is loaded by `fetch`, once. */

const pictures = new Map<string, Promise<string>>();

/** A picture of the server as a URL of this page; "": it cannot be loaded. */
export function loadPicture(url: URL): Promise<string> {
  let picture = pictures.get(url.href);
  if (picture === undefined) pictures.set(url.href, (picture = fetchPicture(url)));
  return picture;
}

/** The path of a cover on the server itself. A title must not make a page request any other of the server's URLs. */
const OWN_COVER = /\/metadata\/channel\/[\w.~-]+\/cover\/[\w.~%-]+$/;

/** Whether this is a cover from a channel's folder of covers, on this server. @param root the server's URL */
export function isOwnCover(url: string, root: URL): boolean {
  if (!URL.canParse(url)) return false;
  const { origin, pathname, href } = new URL(url);
  return origin === root.origin && href === origin + pathname && OWN_COVER.test(pathname);
}

/** The cover of the present title. The former one is released from memory, as a page may be open for days. */
export class LatestCover {
  #url = '';
  #cover = '';
  #loading: Promise<string> = Promise.resolve('');

  /** @returns a URL of this page, at once if it is there; "": it cannot be loaded, or another one has taken its place */
  load(url: string): string | Promise<string> {
    if (url !== this.#url) {
      URL.revokeObjectURL(this.#cover);
      this.#url = url;
      this.#cover = '';
      this.#loading = fetchPicture(new URL(url)).then((cover) => this.#loaded(url, cover));
    }
    return this.#cover || this.#loading;
  }

  #loaded(url: string, cover: string): string {
    if (url === this.#url) return (this.#cover = cover);
    URL.revokeObjectURL(cover);
    return '';
  }
}

async function fetchPicture(url: URL): Promise<string> {
  try {
    const answer = await fetch(url);
    return answer.ok ? URL.createObjectURL(await answer.blob()) : '';
  } catch {
    return '';
  }
}
