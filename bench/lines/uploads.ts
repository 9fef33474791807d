import { setTimeout as delay } from 'node:timers/promises';
import { send } from '../../server/test/client.ts';
import { type FundedKey, makeFundedKeys, openBenchSetup } from '../bench-setup.ts';
import { makePaddedMedia } from '../padded-media.ts';
import { forgetPeak, residentMemory } from '../process-usage.ts';

export const UPLOAD_MEGABYTES = 99;
/** Each of a mailbox of its own, which may have fewer bytes without a purchase. */
const UPLOADS = 6;
const ROUNDS = 2;
const SETTLE_SECONDS = 5;

/** Resident memory of the service, without its decoding children. */
export async function measureUploads() {
  await using bench = await openBenchSetup();
  const keys = await makeFundedKeys(bench.db, { accounts: UPLOADS * (ROUNDS + 1), keysEach: 1 });
  await using service = await bench.startService({ ROLES: 'api', LOG_LEVEL: 'warn' });
  const small = await makePaddedMedia({ image: 2 ** 20, video: 2 ** 20 });
  const large = await makePaddedMedia({ image: 2 ** 20, video: UPLOAD_MEGABYTES * 2 ** 20 });
  const run = (video: Uint8Array) =>
    Promise.all(keys.splice(0, UPLOADS).map((key) => upload(service.url, key, video)));
  await run(small.video);
  await delay(SETTLE_SECONDS * 1000);
  const { nowBytes: beforeBytes } = await residentMemory(service.pid);
  await forgetPeak(service.pid);
  for (let round = 0; round < ROUNDS; round += 1) await run(large.video);
  const { peakBytes } = await residentMemory(service.pid);
  await delay(SETTLE_SECONDS * 1000);
  const { nowBytes: afterBytes } = await residentMemory(service.pid);
  return { uploads: UPLOADS, beforeBytes, peakBytes, afterBytes };
}

async function upload(url: string, { secret }: FundedKey, video: Uint8Array): Promise<void> {
  const response = await send(`${url}/api/v1/uploads`, {
    method: 'POST',
    headers: { authorization: `Bearer ${secret}`, 'content-type': 'video/mp4' },
    body: new Uint8Array(video),
  });
  if (response.status === 201) return;
  throw new Error(`an upload got ${response.status}: ${JSON.stringify(response.body)}`);
}
