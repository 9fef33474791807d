import { existsSync, readFileSync } from 'node:fs';
import { Framewright } from '../src/index.ts';

// Makes one video for each order whose file is not there yet: `node generate-many.ts FILE`.
// It may be killed at any moment and started again: each order keeps its key.
const {
  baseUrl,
  orders,
}: { baseUrl: string; orders: Record<'apiKey' | 'key' | 'file', string>[] } = JSON.parse(
  readFileSync(process.argv[2] ?? '', 'utf8'),
);

const REQUEST = {
  prompt: 'A paper boat',
  model: 'video-2.0-mini',
  resolution: '480p',
  duration: 4,
} as const;

async function make({ apiKey, key, file }: (typeof orders)[number]): Promise<void> {
  if (existsSync(file)) return;
  const client = new Framewright({ apiKey, baseUrl });
  const video = await client.generate(REQUEST, { idempotencyKey: key });
  await video.download(file);
}

const made = await Promise.allSettled(orders.map(make));
for (const one of made) if (one.status === 'rejected') console.error(one.reason);
process.exitCode = made.every(({ status }) => status === 'fulfilled') ? 0 : 1;
