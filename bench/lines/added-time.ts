import { setTimeout as delay } from 'node:timers/promises';
import type { TestVideo } from '../../server/test/media/media-files.ts';
import { makeFundedKeys, openBenchSetup } from '../bench-setup.ts';
import { type InstantProvider, withInstantProvider } from '../instant-provider.ts';
import { type Quantiles, quantilesOf } from '../load.ts';

const OUTPUT: TestVideo = { width: 1280, height: 720, seconds: 5, audio: 'with' };
/** Between a job's acceptance and its end, in seconds. */
const JOB_SECONDS = 3;
/** The defaults of config/config.ts, which services of tests have shortened. */
const DEFAULT_POLLS = { POLL_MIN_SECONDS: '2', POLL_MAX_SECONDS: '15' };
/** The provider can't reach this host, so only polls tell the service that a job has ended. */
const WITHOUT_CALLBACKS = { PUBLIC_URL: 'https://callbacks.invalid' };
/** From these the service learns how long the jobs take. It writes and reads that every 10 s. */
const WARM_UP_TASKS = 5;
/** One task after the other, then so many at once. */
const TASKS = { single: 15, together: 100 };

interface AddedTime {
  /** From the POST of a create to the arrival of its submit at the provider. */
  before: Quantiles;
  /** From the provider's end of a job to the response that says so. */
  after: Quantiles;
  /** Between the last two reads of a job: the one that found it ended, and the one before. */
  pause: Quantiles;
}

/**
 * Tasks of 5 s of 720p whose clients read with `Prefer: wait`, for one task at a time and for many,
 * with a simulated fal that sends callbacks and with one that can't.
 */
export async function measureAddedTime() {
  const options = { output: OUTPUT, jobSeconds: JOB_SECONDS };
  return withInstantProvider(async (provider) => {
    const measure = (own: Record<string, string>) => measureBoth(provider, own);
    const callbacks = await measure(DEFAULT_POLLS);
    return { callbacks, polls: await measure({ ...DEFAULT_POLLS, ...WITHOUT_CALLBACKS }) };
  }, options);
}

async function measureBoth(provider: InstantProvider, own: Record<string, string>) {
  await using bench = await openBenchSetup();
  const keys = await makeFundedKeys(bench.db, { accounts: 50, keysEach: 4 });
  await using service = await bench.startService({ ...provider.env, ...own, POSTERS: 'yes' });
  let next = 0;
  const runTask = async () => {
    const { secret } = keys[next++ % keys.length] ?? {};
    return timesOf(service.url, secret ?? '');
  };
  for (let count = 0; count < WARM_UP_TASKS; count += 1) await runTask();
  const single: Times[] = [];
  while (single.length < TASKS.single) single.push(await runTask());
  const together = await Promise.all(Array.from({ length: TASKS.together }, runTask));
  const ran = await jobsOf(provider);
  const added = (times: Times[]) =>
    addedTime(
      times.flatMap((time) =>
        ran.flatMap((job) => (job.prompt === time.prompt ? { ...time, ...job } : [])),
      ),
    );
  return { single: added(single), together: added(together) };
}

/** Milliseconds since 1970, by this machine's clock, which the provider has too. */
interface Times {
  prompt: string;
  createdAt: number;
  completedAt: number;
}

async function timesOf(url: string, secret: string): Promise<Times> {
  const prompt = `lighthouse-${crypto.randomUUID()}`;
  const authorization = `Bearer ${secret}`;
  const createdAt = Date.now();
  const created = await fetch(`${url}/api/v1/video/generations`, {
    method: 'POST',
    headers: { authorization, 'content-type': 'application/json', 'idempotency-key': prompt },
    body: JSON.stringify({ prompt, duration: 5 }),
  });
  if (created.status !== 202) throw new Error(`a create got ${await created.text()}`);
  const { id } = (await created.json()) as { id: string };
  for (;;) {
    const headers = { authorization, prefer: 'wait=30' };
    const response = await fetch(`${url}/api/v1/tasks/${id}`, { headers });
    const text = await response.text();
    if (response.status === 503) {
      await delay(100);
      continue;
    }
    const { status } = JSON.parse(text) as { status: string };
    if (status === 'completed') return { prompt, createdAt, completedAt: Date.now() };
    if (status !== 'processing') throw new Error(`${id}: ${text}`);
  }
}

/** A job as its provider saw it. */
interface Job {
  prompt: string;
  receivedAt: number;
  /** Between its last two reads; undefined if it was read once. */
  pause: number | undefined;
}

async function jobsOf({ jobs, requests }: InstantProvider): Promise<Job[]> {
  const readAt = new Map<string, number[]>();
  for (const { call, path, at } of await requests()) {
    const id = call === 'read' ? path.split('/').at(-2) : undefined;
    if (id) readAt.set(id, [...(readAt.get(id) ?? []), at]);
  }
  return (await jobs()).map(({ id, prompt, createdAt: receivedAt }) => {
    const [before, last] = (readAt.get(id) ?? []).slice(-2);
    return { prompt, receivedAt, pause: before && last && last - before };
  });
}

function addedTime(tasks: Array<Times & Job>): AddedTime {
  const endedAt = ({ receivedAt }: Job) => receivedAt + JOB_SECONDS * 1000;
  return {
    before: quantilesOf(tasks.map(({ receivedAt, createdAt }) => receivedAt - createdAt)),
    after: quantilesOf(tasks.map((task) => task.completedAt - endedAt(task))),
    pause: quantilesOf(tasks.flatMap(({ pause }) => pause ?? [])),
  };
}
