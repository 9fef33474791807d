import { setTimeout as delay } from 'node:timers/promises';
import { client } from '../server/test/client.ts';
import { type MediaHost, startMediaHost } from '../server/test/media/media-host.ts';
import { makeFundedKeys, openBenchSetup } from './bench-setup.ts';
import { forgetPeak, peakOfChildren, residentMemory } from './memory.ts';
import { makePaddedMedia } from './padded-media.ts';

const MEGABYTE = 1024 * 1024;
/** 8 x 20 + 3 x 31.9 MB: just under the 256 MB that the files of a request may have together. */
const SIZES = { image: 20 * MEGABYTE, video: Math.floor(31.9 * MEGABYTE) };
const IMAGES = 8;
const VIDEOS = 3;
/** After that the garbage of the start is collected, so that growth counts from an idle service. */
const SETTLE_SECONDS = 3;
/** Also the create's wait: a 202 earlier than this means that the provider has accepted the task. */
const PATIENCE_SECONDS = 60;

/** The memory that the ingest of one request of almost the maximum size takes. */
export interface IngestMemory {
  ingestedBytes: number;
  seconds: number;
  restBytes: number;
  peakBytes: number;
  /** Of the largest child process, decoding or rendering; not part of the above. */
  childPeakBytes: number;
}

/** @returns undefined on systems without /proc, from which the memory is read */
export async function measureIngest(): Promise<IngestMemory | undefined> {
  if (process.platform !== 'linux') return undefined;
  const host = await startMediaHost();
  try {
    return await ingestFrom(host);
  } finally {
    await host.close();
  }
}

async function ingestFrom(host: MediaHost): Promise<IngestMemory> {
  const request = await serveMedia(host);
  await using bench = await openBenchSetup();
  const [key] = await makeFundedKeys(bench.db, { accounts: 1, keysEach: 1 });
  await using service = await bench.startService({
    ROLES: 'api,worker',
    CREATE_WAIT_SECONDS: String(PATIENCE_SECONDS),
    OUTBOUND_ALLOW: `localhost:${host.port}`,
  });
  const { pid } = service;
  await delay(SETTLE_SECONDS * 1000);
  await forgetPeak(pid);
  const rest = await residentMemory(pid);
  const api = client(service.url, key?.secret ?? '');
  const start = performance.now();
  const accepted = acceptance(api, request);
  const childPeakBytes = await peakOfChildren(pid, accepted);
  await accepted;
  const seconds = (performance.now() - start) / 1000;
  if (seconds >= PATIENCE_SECONDS) throw new Error('the ingest took too long');
  const { peakBytes } = await residentMemory(pid);
  const ingestedBytes = IMAGES * SIZES.image + VIDEOS * SIZES.video;
  return { ingestedBytes, seconds, restBytes: rest.nowBytes, peakBytes, childPeakBytes };
}

async function serveMedia(host: MediaHost): Promise<object> {
  const { image, video, videoSeconds } = await makePaddedMedia(SIZES);
  const serve = (name: string, bytes: Buffer) => host.serve(name, { kind: 'bytes', bytes });
  return {
    prompt: 'A lighthouse at dawn, waves below',
    mode: 'media-to-video',
    model: 'video-2.0-mini',
    resolution: '480p',
    reference_image_urls: Array.from({ length: IMAGES }, (_, i) => serve(`/${i}.png`, image)),
    reference_video_urls: Array.from({ length: VIDEOS }, (_, i) => serve(`/${i}.mp4`, video)),
    reference_video_durations: Array.from({ length: VIDEOS }, () => videoSeconds),
  };
}

/** Waits for the provider's acceptance, which comes after the ingest. */
async function acceptance(api: ReturnType<typeof client>, request: object): Promise<void> {
  const { status, body } = await api.create(request);
  if (status !== 202) throw new Error(`the create got ${status}: ${JSON.stringify(body)}`);
}
