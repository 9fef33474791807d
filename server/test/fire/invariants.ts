import assert from 'node:assert/strict';
import { type Database, statement } from '../../src/database/database.ts';
import { balances } from '../../src/ledger/ledger.ts';
import { type Load, readOnce, sendOnce } from './clients.ts';
import type { Deployment } from './deployment.ts';
import { type MultiKeyCustomer, PROMOTIONAL_CREDITS } from './multi-key-customer.ts';
import {
  hasEnded,
  type JobsByAttempt,
  jobsByAttempt,
  jobsOf,
  type RecordedTask,
  recordedTasks,
} from './record.ts';
import { type ClientRequest, REQUEST_CREDITS } from './requests.ts';

/** Failures of a task whose job ran: the job itself failed. */
const FAILED_JOBS = ['provider_failed', 'content_refused'];

/** Compares tasks and attempts with the provider's record. @returns one line per contradiction */
export async function problemsOfJobs(deployment: Deployment): Promise<string[]> {
  const tasks = await recordedTasks(deployment.database.db);
  const jobs = await jobsByAttempt(deployment);
  const attempts = new Set(tasks.flatMap((task) => task.attempts.map(({ id }) => id)));
  const unrecorded = [...jobs.keys()].filter((id) => !attempts.has(id));
  return [
    ...unrecorded.map((id) => `a job has the callback address of ${id}, which is not on record`),
    ...tasks.flatMap((task) => problemsOfTask(task, jobs)),
  ];
}

function problemsOfTask(task: RecordedTask, jobs: JobsByAttempt): string[] {
  const own = jobsOf(task, jobs).map(({ id }) => id);
  const adopted = task.attempts.flatMap(({ job_id }) => job_id ?? []);
  const rules: Record<string, boolean> = {
    'has ended': hasEnded(task),
    'ran at most one job': own.length <= 1,
    'is completed by its own job, adopted': task.phase !== 'completed' || equal(own, adopted),
    'is refunded only without a job, or with one that failed':
      task.phase !== 'failed' || own.length === 0 || FAILED_JOBS.includes(task.error_code ?? ''),
    'adopted no job of another task': adopted.every((id) => own.includes(id)),
  };
  const broken = Object.entries(rules).filter(([, isKept]) => !isKept);
  return broken.map(([rule]) => `not true: it ${rule}: ${JSON.stringify({ task, own })}`);
}

function equal(one: string[], other: string[]): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}

/** At most one job ran for each prompt that only one request has. */
export async function problemsOfPrompts(
  deployment: Deployment,
  requests: ClientRequest[],
): Promise<string[]> {
  const jobs = await (await deployment.provider.simulator.current()).jobs();
  const byPrompt = Map.groupBy(jobs, ({ prompt }) => prompt);
  return requests
    .filter(({ prompt, isUnique }) => isUnique && (byPrompt.get(prompt) ?? []).length > 1)
    .map(({ key, prompt }) => `${key}: more than one job ran for ${prompt}`);
}

/** Each key means one task; earlier ones were refunded at once and never announced. */
export async function problemsOfKeys(deployment: Deployment, load: Load): Promise<string[]> {
  const byKey = Map.groupBy(await recordedTasks(deployment.database.db), ({ key }) => key);
  return [...load.observations].flatMap(([{ key }, { taskId }]) => {
    const tasks = byKey.get(key) ?? [];
    const others = tasks.filter(({ id }) => id !== taskId);
    const wrong = others.filter(
      (task) => task.phase !== 'failed' || task.error_code !== 'not_accepted' || task.announced,
    );
    const lost = tasks.length === others.length ? [`${key}: its task ${taskId} is lost`] : [];
    return [...lost, ...wrong.map((task) => `${key}: it means ${taskId}, not ${describe(task)}`)];
  });
}

function describe(task: RecordedTask): string {
  return JSON.stringify(task);
}

/** Sends every key and reads every task once more, and downloads every video. */
export async function problemsOfResponses(deployment: Deployment, load: Load): Promise<string[]> {
  const problems: string[] = [];
  const waiting = [...load.observations];
  const askOneByOne = async () => {
    for (let next = waiting.shift(); next; next = waiting.shift()) {
      problems.push(...(await problemsOfRequest(deployment, load, next[0])));
    }
  };
  await Promise.all(Array.from({ length: 4 }, askOneByOne));
  return [...problems, ...[...load.observations.values()].flatMap((one) => one.contradictions)];
}

async function problemsOfRequest(
  deployment: Deployment,
  load: Load,
  request: ClientRequest,
): Promise<string[]> {
  const isConfirmed = await sendOnce(load, request, deployment.url);
  const read = await readOnce(load, request, deployment.url);
  const view = load.observations.get(request)?.lastView;
  if (!isConfirmed || read?.status !== 200 || !view)
    return [`${request.key}: no response at the end`];
  if (view.status === 'failed') {
    const isRefunded =
      view.credits_used === REQUEST_CREDITS && view.credits_refunded === REQUEST_CREDITS;
    return isRefunded ? [] : [`${request.key}: refunded in part: ${JSON.stringify(view)}`];
  }
  const video = await fetch(read.body.output?.video_url ?? 'data:,').catch(() => undefined);
  const bytes = Buffer.from((await video?.bytes()) ?? []);
  const isVideo = video?.status === 200 && bytes.subarray(4, 8).toString() === 'ftyp';
  return isVideo ? [] : [`${request.key}: no video: ${video?.status} ${JSON.stringify(read.body)}`];
}

const SPENT = statement(
  'test_spent',
  `select coalesce(sum(credits) filter (where phase = 'completed'), 0)::int as credits
   from tasks where account_id = $1`,
);

/** Paid credits are available or captured for completed tasks; promotional ones are untouched. */
export async function assertCredits(db: Database, customer: MultiKeyCustomer): Promise<void> {
  const { accountId, paidCredits } = customer;
  const [spent] = await db.query<{ credits: number }>(SPENT, [accountId]);
  assert.deepEqual(await balances(db, accountId), {
    paid: { available: paidCredits - (spent?.credits ?? 0), reserved: 0 },
    promotional: { available: PROMOTIONAL_CREDITS, reserved: 0 },
  });
}
