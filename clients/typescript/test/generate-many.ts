import { existsSync } from 'node:fs';
import path from 'node:path';
import { Framewright, FramewrightError } from '../src/index.ts';

// Makes the videos FIRST to LAST that are not in FOLDER yet, each with a key of its own:
// `node generate-many.ts FOLDER FIRST LAST`. It may be killed at any moment and started again.
const [folder = '', first, last] = process.argv.slice(2);
const apiKeys = process.env.FRAMEWRIGHT_TEST_KEYS?.split(',') ?? [];
const AT_ONCE = 6;

const REQUEST = {
  prompt: 'A paper boat',
  model: 'video-2.0-mini',
  resolution: '480p',
  duration: 4,
} as const;

async function make(order: number): Promise<void> {
  const file = path.join(folder, `${order}.mp4`);
  const client = new Framewright({ apiKey: apiKeys[order % apiKeys.length] });
  while (!existsSync(file)) {
    try {
      const video = await client.generate(REQUEST, { idempotencyKey: `order-${order}` });
      await video.download(file);
    } catch (error) {
      if (!(error instanceof FramewrightError) || error.retry !== 'same_key') throw error;
    }
  }
}

let next = Number(first);
async function makeRest(): Promise<void> {
  while (next <= Number(last)) await make(next++);
}

await Promise.all(Array.from({ length: AT_ONCE }, makeRest));
