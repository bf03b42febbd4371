/** Texts with places to fill in: `{artist} - {title}`. A brace before anything but a name stands for itself, as in JSON. Pure. */

const PLACE = /\{([a-z]{1,32})\}/g;

/** The names of the places of a template, each as often as it stands there. */
export function placesOf(template: string): string[] {
  return [...template.matchAll(PLACE)].map(([, name]) => name!);
}

/** @param written what stands at a place, as it has to be written there */
export function fill(template: string, written: (name: string) => string): string {
  return template.replace(PLACE, (_, name: string) => written(name));
}
