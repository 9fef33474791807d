import assert from 'node:assert/strict';
import { after } from 'node:test';
import { currentAttempt } from '../src/attempts/attempts.ts';
import { type Database, type Queryable, statement } from '../src/database/database.ts';
import type { VideoFacts } from '../src/media/measurement.ts';
import { audit } from '../src/operator/audit.ts';
import { createProviderBreaker } from '../src/providers/circuit-breaker/breaker.ts';
import type { Provider } from '../src/providers/provider.ts';
import { fingerprintOf } from '../src/requests/bodies.ts';
import { type CreateDeps, type Created, taskCreator } from '../src/tasks/create/create.ts';
import type { Binding, CheckedRequest } from '../src/tasks/create/new-task.ts';
import { UNLEASED } from '../src/tasks/lease.ts';
import { TASK_COLUMNS, type Task } from '../src/tasks/task.ts';
import { type Changes, LEASE_SECONDS, moveNow } from '../src/tasks/transitions.ts';
import { openWakeUps } from '../src/tasks/wake-ups.ts';
import type { GenerateDeps } from '../src/worker/generate.ts';
import { type SubmitStepDeps, submitTask } from '../src/worker/submit.ts';
import { makeCustomer } from './customer.ts';
import { createTestDatabase, quiet } from './database.ts';
import { requestOf } from './requests.ts';
import { until } from './until.ts';

/** A valid request of 5 seconds with its defaults filled in; PRICE is its price in the contract. */
export const REQUEST = requestOf({ prompt: 'A lighthouse at dawn' });
export const PRICE = { credits: 250, version: 1 };
/** What its video measures. */
export const VIDEO_FACTS: VideoFacts = {
  kind: 'video',
  mediaType: 'video/mp4',
  width: 1280,
  height: 720,
  durationSeconds: 5,
  frames: 120,
  videoCodec: 'h264',
  audio: { codec: 'aac', durationSeconds: 5 },
};

/**
 * A database of its own until the tests of the file, or the test that opens it, are over, and what
 * a create needs. `audited`: the audit must find nothing after all that the tests did.
 */
export type TaskFixture = Awaited<ReturnType<typeof openTaskFixture>>;

/** `providerName`: the connection of the tasks; scripted if it is not given. */
type MakerDeps = CreateDeps & { providerName?: string };

interface MakerFixture {
  db: Database;
  deps: MakerDeps;
}

export async function openTaskFixture(end?: 'audited') {
  const database = await createTestDatabase();
  const { db, url } = database;
  const wakeUps = openWakeUps({ url, db, log: quiet });
  const deps: CreateDeps = { db, wakeUps, log: quiet, createWaitSeconds: 20 };
  after(async () => {
    const { problems } = end === 'audited' ? await audit(db) : { problems: [] };
    await database.close();
    assert.deepEqual(problems, []);
  });
  return { database, db, wakeUps, deps };
}

/** The binding of a body to a key, a new one unless it is given. */
export function bindingFor(
  accountId: string,
  idempotencyKey: string = crypto.randomUUID(),
  prompt: string = REQUEST.prompt,
): Binding {
  const fingerprint = fingerprintOf({ prompt });
  return { accountId, surface: 'api', idempotencyKey, fingerprint };
}

/** What a create of the binding's request gets. */
export function requestFor(
  binding: Binding,
  request = REQUEST,
  price = PRICE,
  provider = 'scripted',
): CheckedRequest {
  return { binding, request, price, provider };
}

/** Creates the task of a request, in a process of its own. */
export function createTask(deps: CreateDeps, checked: CheckedRequest): Promise<Created> {
  return taskCreator(deps)(checked);
}

/** A new task of a new customer, whose credits cover exactly this task. */
export async function makeTask(fixture: MakerFixture, changes: Partial<MakerDeps> = {}) {
  const { accountId } = await makeCustomer(fixture.db, PRICE.credits);
  const binding = bindingFor(accountId);
  const deps = { ...fixture.deps, ...changes };
  const checked = requestFor(binding, REQUEST, PRICE, deps.providerName);
  const { task } = await createTask(deps, checked);
  return { task, binding };
}

/** A new task, leased and about to be submitted, as the worker passes it to the submit step. */
export async function makeSubmittingTask(fixture: MakerFixture, changes: Partial<MakerDeps> = {}) {
  const { task, binding } = await makeTask(fixture, changes);
  const claimed = await claimTask(fixture.db, task.id);
  const move = { to: 'submitting', changes: { aspectRatio: '16:9' } } as const;
  return { task: await moveNow(fixture.db, claimed, move), binding };
}

/** Records an attempt that the provider accepted. */
export async function recordAccepted(db: Database, taskId: string): Promise<void> {
  await sql(
    db,
    `insert into attempts (id, task_id, provider, send_before, state, job_id, outcome_at)
     select 'att_' || id, id, provider, clock_now(), 'accepted', 'job-' || id, clock_now()
     from tasks where id = $1`,
    [taskId],
  );
}

/** Completes a task of which nothing was submitted, without a worker. */
export async function completeNow(db: Database, task: Task, changes: Changes): Promise<Task> {
  await recordAccepted(db, task.id);
  let moved = task;
  for (const to of ['submitting', 'generating', 'archiving'] as const) {
    moved = await moveNow(db, moved, { to });
  }
  return moveNow(db, moved, { to: 'completed', changes });
}

/** Leases one task as a worker does; undefined when it is not due or has a lease. */
export async function claim(db: Database, taskId: string): Promise<Task | undefined> {
  const update = `update tasks set lease = lease + 1,
      leased_until = clock_now() + interval '${LEASE_SECONDS} seconds'
    where id = $1 and due_at <= clock_now() and ${UNLEASED} returning ${TASK_COLUMNS}`;
  const [task] = await sql<Task>(db, update, [taskId]);
  return task;
}

/** Leases a task that must be due and have no lease. */
export async function claimTask(db: Database, taskId: string): Promise<Task> {
  const task = await claim(db, taskId);
  if (!task) throw new Error(`${taskId} is not due, or it is leased`);
  return task;
}

/** Seconds until a task is due, by the database's clock. */
export async function dueInSeconds(db: Database, taskId: string): Promise<number> {
  const text = 'select extract(epoch from due_at - clock_now())::float8 as seconds from tasks';
  const [row] = await sql<{ seconds: number }>(db, `${text} where id = $1`, [taskId]);
  return row?.seconds ?? Number.NaN;
}

export const SUBMIT_TIMEOUT_SECONDS = 30;

/** What the steps that submit and find need, with one provider for all tasks. */
export function submitDeps(
  { db }: Pick<TaskFixture, 'db'>,
  provider: Provider,
): SubmitStepDeps & Pick<GenerateDeps, 'routing'> {
  return {
    db,
    providerOf: () => provider,
    routing: { next: () => undefined, modelIdOf: () => undefined, retriesFailed: () => false },
    monotonic: () => performance.now(),
    wallClock: () => Date.now(),
    pause: async () => {},
    log: quiet,
    breaker: createProviderBreaker({ db, log: quiet }),
    firstSeen: { secondsAgo: () => Number.POSITIVE_INFINITY },
    submitTimeoutSeconds: SUBMIT_TIMEOUT_SECONDS,
    submitRetrySeconds: 600,
    reconcileSeconds: 45,
    links: {
      inputLinkTo: async (objectId) => `https://media.test/media/${objectId}`,
      callbackTo: (provider, attemptId) => `https://media.test/callbacks/${provider}/${attemptId}`,
    },
  };
}

/** A task held because of an unknown outcome, still leased by its worker, and its attempt. */
export async function makeHeldTask(fixture: MakerFixture, changes: Partial<CreateDeps> = {}) {
  const { task, binding } = await makeSubmittingTask(fixture, changes);
  const provider = scriptedProvider({
    submit: async () => ({ kind: 'unknown', cause: 'timed out', bytesSent: 700 }),
  });
  const held = await submitTask(submitDeps(fixture, provider), task);
  const attempt = await currentAttempt(fixture.db, task.id);
  if (held === 'postponed' || !attempt) throw new Error(`${task.id} is not held`);
  return { held, attempt, binding };
}

/** A provider that does what a test defines; any other call fails the test. */
export function scriptedProvider(
  script: Partial<Omit<Provider, 'capabilities'>> & { findLagSeconds?: number },
): Provider {
  const unexpected = (call: string) => async (): Promise<never> => {
    throw new Error(`unexpected call of ${call}`);
  };
  return {
    name: 'scripted',
    identity: 'test',
    capabilities: {
      exactOutput: false,
      findLagSeconds: script.findLagSeconds ?? 0,
      jobLimitSeconds: 3600,
      outputLifeSeconds: 3600,
      budgets: {},
    },
    submit: script.submit ?? unexpected('submit'),
    find: script.find ?? unexpected('find'),
    read: script.read ?? unexpected('read'),
    openOutput: script.openOutput ?? unexpected('openOutput'),
    ...(script.readCallback && { readCallback: script.readCallback }),
  };
}

/** Runs a test's own SQL. */
export async function sql<Row extends object>(
  db: Queryable,
  text: string,
  values: unknown[] = [],
): Promise<Row[]> {
  return db.query<Row>(statement('', text), values);
}

/** Waits until a statement waits for a row that another connection has locked. */
export async function untilBlocked(db: Queryable, queries = 1): Promise<void> {
  const count = async () => {
    const select = `select count(*)::int as count from pg_stat_activity
      where datname = current_database() and wait_event_type = 'Lock'`;
    const [row] = await sql<{ count: number }>(db, select);
    return row?.count ?? 0;
  };
  await until(count, (waiting) => waiting >= queries);
}
