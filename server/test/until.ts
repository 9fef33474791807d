/**
 * Reads every 50 ms until the value satisfies, or is truthy; the only way in which tests wait.
 * @throws Error with the last value when that takes longer than `patienceSeconds`
 */
export async function until<T>(
  read: () => Promise<T>,
  satisfied: (value: T) => boolean = Boolean,
  patienceSeconds = 60,
): Promise<T> {
  const end = performance.now() + patienceSeconds * 1000;
  for (;;) {
    const value = await read();
    if (satisfied(value)) return value;
    if (performance.now() > end)
      throw new Error(`still waiting after ${patienceSeconds} s: ${JSON.stringify(value)}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
