import { readFile } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { type Database, statement } from '../../server/src/database/database.ts';
import { client } from '../../server/test/client.ts';
import { type MediaHost, startMediaHost } from '../../server/test/media/media-host.ts';
import { temporaryFolder } from '../../server/test/temporary-folder.ts';
import { TEST_CA_FILE } from '../../server/test/tls/certificates.ts';
import { type BenchSetup, makeFundedKeys, openBenchSetup } from '../bench-setup.ts';
import type { IngestFloorSetup } from '../floors/ingest-floor.ts';
import { median, spread } from '../load.ts';
import { makePaddedMedia } from '../padded-media.ts';
import { forgetPeak, peakOfChildren, residentMemory } from '../process-usage.ts';
import { startProgram } from '../program.ts';

const MEGABYTE = 1024 * 1024;
const IMAGES = 8;
const VIDEOS = 3;
/** The sizes of each file: together 1 MB, and just under the 256 MB that a request may have. */
const SMALL = { image: MEGABYTE / 32, video: MEGABYTE / 4 - MEGABYTE / 128 };
const LARGE = { image: 20 * MEGABYTE, video: Math.floor(31.9 * MEGABYTE) };
const ROUNDS = 3;
/** After that the garbage of the start is collected, so that peaks count from an idle service. */
const SETTLE_SECONDS = 3;
/** CREATE_WAIT_SECONDS: a 202 before its end means that the provider has accepted the task. */
const PATIENCE_SECONDS = 60;

/** The ingest of one request of almost the maximum size; medians. */
export async function measureIngest() {
  const host = await startMediaHost();
  try {
    return await ingestFrom(host);
  } finally {
    await host.close();
  }
}

async function ingestFrom(host: MediaHost) {
  const [small, large] = [await serveMedia(host, SMALL), await serveMedia(host, LARGE)];
  await using bench = await openBenchSetup();
  await using service = await startIngester(bench, host);
  await using folder = await temporaryFolder();
  await using floor = await startProgram<IngestFloorSetup, object, number>(
    'floors/ingest-floor.ts',
    {
      urls: [...large.reference_image_urls, ...large.reference_video_urls],
      ca: await readFile(TEST_CA_FILE, 'utf8'),
      folder: folder.path,
    },
  );
  const { peakBytes: smallPeakBytes } = await service.ingest(small);
  const rounds: Array<Ingested & { floorSeconds: number }> = [];
  while (rounds.length < ROUNDS) {
    rounds.push({ ...(await service.ingest(large)), floorSeconds: await floor.send({}) });
  }
  return {
    ingestedBytes: IMAGES * LARGE.image + VIDEOS * LARGE.video,
    serviceSeconds: median(rounds.map(({ seconds }) => seconds)),
    floorSeconds: median(rounds.map(({ floorSeconds }) => floorSeconds)),
    ratio: spread(rounds.map(({ seconds, floorSeconds }) => floorSeconds / seconds)),
    smallPeakBytes,
    peakBytes: rounds[0]?.peakBytes ?? Number.NaN,
    childPeakBytes: Math.max(...rounds.map(({ childPeakBytes }) => childPeakBytes)),
  };
}

type MediaRequest = Awaited<ReturnType<typeof serveMedia>>;

async function serveMedia(host: MediaHost, sizes: { image: number; video: number }) {
  const { image, video, videoSeconds } = await makePaddedMedia(sizes);
  const serve = (name: string, bytes: Buffer) =>
    host.serve(`/${bytes.length}/${name}`, { kind: 'bytes', bytes });
  return {
    prompt: 'A lighthouse at dawn, waves below',
    mode: 'media-to-video',
    model: 'video-2.0-mini',
    resolution: '480p',
    duration: 4,
    reference_image_urls: Array.from({ length: IMAGES }, (_, i) => serve(`${i}.png`, image)),
    reference_video_urls: Array.from({ length: VIDEOS }, (_, i) => serve(`${i}.mp4`, video)),
    reference_video_durations: Array.from({ length: VIDEOS }, () => videoSeconds),
  };
}

interface Ingested {
  seconds: number;
  peakBytes: number;
  childPeakBytes: number;
}

/** A service that ingests one request at a time. */
async function startIngester({ db, ...bench }: BenchSetup, host: MediaHost) {
  const [key] = await makeFundedKeys(db, { accounts: 1, keysEach: 1 });
  const service = await bench.startService({
    ROLES: 'api,worker',
    CREATE_WAIT_SECONDS: String(PATIENCE_SECONDS),
    OUTBOUND_ALLOW: `localhost:${host.port}`,
  });
  const { pid, url } = service;
  const api = client(url, key?.secret ?? '');
  return {
    /** Returns when the task has ended, so that nothing is rendered afterwards. */
    async ingest(request: MediaRequest): Promise<Ingested> {
      await delay(SETTLE_SECONDS * 1000);
      await forgetPeak(pid);
      const accepted = acceptance(api, request);
      const childPeakBytes = await peakOfChildren(pid, accepted);
      const taskId = await accepted;
      const { peakBytes } = await residentMemory(pid);
      const seconds = await readSeconds(db, taskId);
      if (seconds >= PATIENCE_SECONDS) throw new Error('the ingest took too long');
      return { seconds, peakBytes, childPeakBytes };
    },
    [Symbol.asyncDispose]: () => service[Symbol.asyncDispose](),
  };
}

/** Waits for the provider's acceptance, which comes after the ingest. @returns the task's id */
async function acceptance(api: ReturnType<typeof client>, request: object): Promise<string> {
  const { status, body } = await api.create(request);
  if (status === 202) return body.id;
  throw new Error(`the create got ${status}: ${JSON.stringify(body)}`);
}

const INGEST_TIME = statement(
  'bench_ingest_time',
  `select extract(epoch from max(at) filter (where phase = 'submitting')
     - min(at) filter (where phase = 'ingesting'))::float8 as seconds,
     (select due_at is null from tasks where id = $1) as "hasEnded"
   from task_history where task_id = $1`,
);

async function readSeconds(db: Database, taskId: string): Promise<number> {
  for (;;) {
    const [row] = await db.query<{ seconds: number; hasEnded: boolean }>(INGEST_TIME, [taskId]);
    if (row?.hasEnded) return row.seconds;
    await delay(100);
  }
}
