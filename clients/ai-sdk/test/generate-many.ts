import { existsSync } from 'node:fs';
import { rename, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { experimental_generateVideo as generateVideo } from 'ai';
import { createFramewright } from '../src/index.ts';

// Makes the videos FIRST to LAST that are not in FOLDER yet, each with a key of its own:
// `node generate-many.ts FOLDER FIRST LAST`. It may be killed at any moment and started again.
const [folder = '', first, last] = process.argv.slice(2);
const apiKeys = process.env.FRAMEWRIGHT_TEST_KEYS?.split(',') ?? [];
const AT_ONCE = 6;

async function make(order: number): Promise<void> {
  const file = path.join(folder, `${order}.mp4`);
  const { video: modelOf } = createFramewright({ apiKey: apiKeys[order % apiKeys.length] });
  while (!existsSync(file)) {
    try {
      const { video } = await generateVideo({
        model: modelOf('video-2.0-mini'),
        prompt: 'A paper boat',
        duration: 4,
        providerOptions: { framewright: { resolution: '480p' } },
        headers: { 'idempotency-key': `order-${order}` },
      });
      await writeFile(`${file}.part`, video.uint8Array);
      await rename(`${file}.part`, file);
    } catch (error) {
      process.stderr.write(`order ${order}: ${error instanceof Error ? error.message : error}\n`);
    }
  }
}

let next = Number(first);
async function makeRest(): Promise<void> {
  while (next <= Number(last)) await make(next++);
}

await Promise.all(Array.from({ length: AT_ONCE }, makeRest));
