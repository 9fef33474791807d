import { existsSync } from 'node:fs';
import path from 'node:path';

const AT_ONCE = 6;

/**
 * Makes the videos FIRST to LAST that are not in FOLDER yet: `node PROGRAM FOLDER FIRST LAST`. The
 * program may be killed at any moment and started again. What `open` returns tries once.
 */
export async function makeOrders(
  open: (apiKey: string) => (order: { key: string; file: string }) => Promise<void>,
): Promise<void> {
  const [folder = '', first, last] = process.argv.slice(2);
  const apiKeys = process.env.FRAMEWRIGHT_TEST_KEYS?.split(',') ?? [];
  let next = Number(first);
  const makeRest = async () => {
    while (next <= Number(last)) {
      const number = next++;
      const file = path.join(folder, `${number}.mp4`);
      const make = open(apiKeys[number % apiKeys.length] ?? '');
      while (!existsSync(file)) await make({ key: `order-${number}`, file });
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, makeRest));
}
