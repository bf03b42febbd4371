export declare function touchedBy(
  names: readonly string[],
  changed: readonly string[],
): { own: string[]; about: string[] };
