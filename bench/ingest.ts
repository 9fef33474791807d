import { setTimeout as delay } from 'node:timers/promises';
import { client } from '../server/test/client.ts';
import { type MediaHost, startMediaHost } from '../server/test/media/media-host.ts';
import { forgetPeak, peakOfChildren, residentMemory } from './memory.ts';
import { makePaddedMedia } from './padded-media.ts';
import { makeCustomers, openStage } from './stage.ts';

const MEGABYTE = 1024 * 1024;
/** 8 x 20 + 3 x 31.9 MB: just under the 256 MB that a request's files may have together. */
const SIZES = { image: 20 * MEGABYTE, video: Math.floor(31.9 * MEGABYTE) };
const IMAGES = 8;
const VIDEOS = 3;
/** For the start's own garbage to go, so that the growth counts from a service at rest. */
const SETTLE_SECONDS = 3;
/** A 202 before this is over means that the provider has the inputs. */
const PATIENCE_SECONDS = 60;

/** What the ingest of one request with as many bytes as allowed costs in memory. */
export interface IngestMemory {
  ingestedBytes: number;
  seconds: number;
  restBytes: number;
  peakBytes: number;
  /** Of the one child, decoding or rendering, that was largest; not part of the above. */
  childPeakBytes: number;
}

/** @returns undefined where there is no /proc to read memory from */
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
  await using stage = await openStage();
  const [customer] = await makeCustomers(stage.db, { accounts: 1, keysEach: 1 });
  await using service = await stage.startService({
    ROLES: 'api,worker',
    CREATE_WAIT_SECONDS: String(PATIENCE_SECONDS),
    OUTBOUND_ALLOW: `localhost:${host.port}`,
  });
  const { pid } = service;
  await delay(SETTLE_SECONDS * 1000);
  await forgetPeak(pid);
  const rest = await residentMemory(pid);
  const api = client(service.url, customer?.secret ?? '');
  const start = performance.now();
  const accepted = acceptance(api, request);
  const childPeakBytes = await peakOfChildren(pid, accepted);
  await accepted;
  const seconds = (performance.now() - start) / 1000;
  if (seconds >= PATIENCE_SECONDS) throw new Error('the ingest was not over in time');
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
  if (status !== 202) throw new Error(`the ingest was answered ${status}: ${JSON.stringify(body)}`);
}
