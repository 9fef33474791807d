/** The name with the fewest differences from the given one; undefined if there are no names. */
export function nearestName(given: string, names: Iterable<string>): string | undefined {
  let nearest: { name: string; distance: number } | undefined;
  for (const name of names) {
    const distance = distanceOf(given, name);
    if (!nearest || distance < nearest.distance) nearest = { name, distance };
  }
  return nearest?.name;
}

/** The Levenshtein distance. */
function distanceOf(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, column) => column);
  for (const [index, character] of [...from].entries()) {
    const next = [index + 1];
    for (const [column, wanted] of [...to].entries()) {
      const replaced = (row[column] ?? 0) + (character === wanted ? 0 : 1);
      next.push(Math.min(replaced, (row[column + 1] ?? 0) + 1, (next[column] ?? 0) + 1));
    }
    row = next;
  }
  return row.at(-1) ?? 0;
}
