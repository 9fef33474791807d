import { existsSync } from 'node:fs';
import path from 'node:path';
import { Framewright, FramewrightError } from '../src/index.ts';

// Makes the videos FIRST to LAST that are not in FOLDER yet: `generate-many.ts FOLDER FIRST LAST`.
// It may be killed at any moment and started again.

const AT_ONCE = 6;
const REQUEST = {
  prompt: 'A paper boat',
  model: 'video-2.0-mini',
  resolution: '480p',
  duration: 4,
} as const;

const [folder = '', first, last] = process.argv.slice(2);
const clients = (process.env.FRAMEWRIGHT_TEST_KEYS ?? '')
  .split(',')
  .map((apiKey) => new Framewright({ apiKey }));
let next = Number(first);

async function makeRest(): Promise<void> {
  while (next <= Number(last)) {
    const number = next++;
    const file = path.join(folder, `${number}.mp4`);
    while (!existsSync(file)) await make(number, file);
  }
}

async function make(number: number, file: string): Promise<void> {
  const client = clients[number % clients.length];
  try {
    const video = await client?.generate(REQUEST, { idempotencyKey: `order-${number}` });
    await video?.download(file);
  } catch (error) {
    if (!(error instanceof FramewrightError) || error.retry !== 'same_key') throw error;
  }
}

await Promise.all(Array.from({ length: AT_ONCE }, makeRest));
