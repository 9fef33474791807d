/** Makes room for one more key: once there are `max`, removes the one added first. */
export function evictOldest(keys: Map<string, unknown> | Set<string>, max: number): void {
  const [oldest] = keys.keys();
  if (keys.size >= max && oldest !== undefined) keys.delete(oldest);
}
