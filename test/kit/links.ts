/** The files that a document links to, as paths relative to it. */
export function linksOf(markdown: string): string[] {
  const links = Array.from(markdown.matchAll(/\]\(([^)#\s]+)(?:#[^)]*)?\)/g), ([, path]) => path!);
  return [...new Set(links)].filter((path) => !/^[a-z]+:/.test(path));
}
