/** Makes room for one more key: of `max` keys the one that was added first is forgotten. */
export function forgetOldest(keys: Map<string, unknown> | Set<string>, max: number): void {
  const [oldest] = keys.keys();
  if (keys.size >= max && oldest !== undefined) keys.delete(oldest);
}
