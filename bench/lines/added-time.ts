import { setTimeout as delay } from 'node:timers/promises';
import type { TestVideo } from '../../server/test/media/media-files.ts';
import { makeFundedKeys, openBenchSetup } from '../bench-setup.ts';
import { withInstantProvider } from '../instant-provider.ts';
import { quantile } from '../sample.ts';

const OUTPUT: TestVideo = { width: 1280, height: 720, seconds: 5, audio: 'with' };
/** Between a job's acceptance and its end, in seconds. */
const JOB_SECONDS = 3;
/** Of service/config.ts, which services of tests have shortened. */
const DEFAULT_POLLS = { POLL_MIN_SECONDS: '2', POLL_MAX_SECONDS: '15' };
/** The provider can't reach this host, so only polls tell the service that a job has ended. */
const WITHOUT_CALLBACKS = { PUBLIC_URL: 'https://callbacks.invalid' };
const WARM_UP_TASKS = 2;
/** One task after the other, then so many at once. */
const TASKS = { single: 15, together: 100 };

/** Milliseconds. */
interface Quantiles {
  p50: number;
  p99: number;
}

interface AddedTime {
  /** From the POST of a create to the arrival of its submit at the provider. */
  before: Quantiles;
  /** From the provider's end of a job to the response that says so. */
  after: Quantiles;
}

/** How much time the service adds to that of the provider. */
export interface AddedTimes {
  callbacks: { single: AddedTime; together: AddedTime };
  polls: { single: AddedTime; together: AddedTime };
}

/**
 * Tasks of 5 s of 720p whose clients read with `Prefer: wait`, for one task at a time and for many,
 * with a simulated fal that sends callbacks and with one that can't.
 */
export async function measureAddedTime(): Promise<AddedTimes> {
  const options = { output: OUTPUT, jobSeconds: JOB_SECONDS };
  return withInstantProvider(async ({ env, jobs }) => {
    const measure = (own: Record<string, string>) => measureBoth({ ...env, ...own }, jobs);
    const callbacks = await measure(DEFAULT_POLLS);
    return { callbacks, polls: await measure({ ...DEFAULT_POLLS, ...WITHOUT_CALLBACKS }) };
  }, options);
}

type Jobs = () => Promise<Array<{ prompt: string; createdAt: number }>>;

async function measureBoth(env: Record<string, string>, jobs: Jobs) {
  await using bench = await openBenchSetup();
  const keys = await makeFundedKeys(bench.db, { accounts: 50, keysEach: 4 });
  await using service = await bench.startService({ ...env, POSTERS: 'yes' });
  let next = 0;
  const runTask = async () => {
    const { secret } = keys[next++ % keys.length] ?? {};
    return timesOf(service.url, secret ?? '');
  };
  for (let count = 0; count < WARM_UP_TASKS; count += 1) await runTask();
  const single: Times[] = [];
  while (single.length < TASKS.single) single.push(await runTask());
  const together = await Promise.all(Array.from({ length: TASKS.together }, runTask));
  const receivedAt = new Map((await jobs()).map((job) => [job.prompt, job.createdAt]));
  const added = (times: Times[]) => addedTime(times, (prompt) => receivedAt.get(prompt));
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

function addedTime(times: Times[], receivedAt: (prompt: string) => number | undefined): AddedTime {
  const received = (prompt: string) => receivedAt(prompt) ?? Number.NaN;
  return {
    before: quantiles(times.map(({ prompt, createdAt }) => received(prompt) - createdAt)),
    after: quantiles(
      times.map(({ prompt, completedAt }) => completedAt - received(prompt) - JOB_SECONDS * 1000),
    ),
  };
}

function quantiles(milliseconds: number[]): Quantiles {
  return { p50: quantile(milliseconds, 0.5), p99: quantile(milliseconds, 0.99) };
}
