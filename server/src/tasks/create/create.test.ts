import assert from 'node:assert/strict';
import { test } from 'node:test';
import { makeCustomer } from '../../../test/customer.ts';
import {
  bindingFor,
  claimTask,
  createTask,
  makeSubmittingTask,
  makeTask,
  openTaskFixture,
  PRICE,
  REQUEST,
  requestFor,
  sql,
  untilBlocked,
} from '../../../test/task-fixtures.ts';
import type { Price } from '../../catalog/price.ts';
import type { GenerationRequest } from '../../catalog/request.ts';
import { openDatabase } from '../../database/database.ts';
import { balances } from '../../ledger/ledger.ts';
import { retryOrFail } from '../not-accepted.ts';
import type { Task } from '../task.ts';
import { type CreateDeps, type Created, taskCreator } from './create.ts';
import { announce } from './idempotency-keys.ts';
import type { Binding, CheckedRequest } from './new-task.ts';

const fixture = await openTaskFixture('audited');
const { db } = fixture;

/** Creates keep the same promises within a process and between processes. */
const WAYS: Record<string, (deps: CreateDeps) => (checked: CheckedRequest) => Promise<Created>> = {
  'in a process each': (deps) => (checked) => createTask(deps, checked),
  'in one process': taskCreator,
};

/** Fails a task that no provider accepted and that was not announced: its key is released. */
async function failAndRelease(taskId: string): Promise<Task> {
  const claimed = await claimTask(db, taskId);
  const options = { submitRetrySeconds: 600, cause: { test: true } };
  const failed = await db.transaction((tx) => retryOrFail(tx, claimed, options));
  assert.ok(failed !== 'postponed');
  return failed;
}

async function tasksOf(accountId: string): Promise<string[]> {
  const text = 'select id from tasks where account_id = $1 order by created_at';
  return (await sql<{ id: string }>(db, text, [accountId])).map(({ id }) => id);
}

function sharedTask(outcomes: Created[]): Task {
  const ids = new Set(outcomes.map(({ task }) => task.id));
  assert.equal(ids.size, 1, `${ids.size} tasks for one key`);
  assert.equal(outcomes.filter(({ kind }) => kind === 'created').length, 1);
  const [first] = outcomes;
  assert.ok(first);
  return first.task;
}

type Way = (typeof WAYS)[string];
type Create = (binding: Binding, request?: GenerationRequest, price?: Price) => Promise<Created>;

/** Runs a test with each way. */
function testBoth(
  title: string,
  work: (both: { way: Way; create: Create }) => Promise<void>,
): void {
  for (const [name, way] of Object.entries(WAYS)) {
    test(`${title}: ${name}`, () => {
      const create = way(fixture.deps);
      return work({ way, create: (...checked) => create(requestFor(...checked)) });
    });
  }
}

testBoth(
  'identical creates at the same time reserve once, also if the credits cover only one',
  async ({ create }) => {
    for (const count of [2, 20]) {
      const { accountId } = await makeCustomer(db, PRICE.credits);
      const binding = bindingFor(accountId);
      const outcomes = await Promise.all(Array.from({ length: count }, () => create(binding)));
      const task = sharedTask(outcomes);
      assert.deepEqual(await tasksOf(accountId), [task.id]);
      const { paid } = await balances(db, accountId);
      assert.deepEqual(paid, { available: 0, reserved: PRICE.credits });
    }
  },
);

testBoth(
  'when creates with one key and different bodies run at once, one body gets the task and the others conflict',
  async ({ create }) => {
    const { accountId } = await makeCustomer(db, PRICE.credits * 10);
    const key = crypto.randomUUID();
    const attempts = Array.from({ length: 10 }, (_, i) =>
      create(bindingFor(accountId, key, `body ${i % 5}`)),
    );
    const outcomes = await Promise.allSettled(attempts);
    const good = outcomes.filter((outcome) => outcome.status === 'fulfilled');
    sharedTask(good.map(({ value }) => value));
    assert.equal(good.length, 2, 'two creates had the body that got the task');
    const refused = outcomes.filter((outcome) => outcome.status === 'rejected');
    for (const { reason } of refused) assert.equal(reason.code, 'idempotency_conflict');
    assert.equal((await balances(db, accountId)).paid.reserved, PRICE.credits);
  },
);

testBoth('two accounts may use the same key', async ({ create }) => {
  const [ada, grace] = [await makeCustomer(db, 250), await makeCustomer(db, 250)];
  const first = await create(bindingFor(ada.accountId, 'same-key'));
  const second = await create(bindingFor(grace.accountId, 'same-key', 'another body'));
  assert.equal(second.kind, 'created');
  assert.notEqual(first.task.id, second.task.id);
});

testBoth(
  'a released key starts a new task for the same body and still refuses another body',
  async ({ create }) => {
    const { task, binding } = await makeTask(fixture);
    const failed = await failAndRelease(task.id);
    assert.equal(failed.error_code, 'not_accepted');
    const other = { ...binding, fingerprint: Buffer.alloc(32) };
    await assert.rejects(create(other), { code: 'idempotency_conflict' });
    const again = await create(binding);
    assert.equal(again.kind, 'created');
    assert.deepEqual(await tasksOf(binding.accountId), [task.id, again.task.id]);
    const replayed = await create(binding);
    assert.deepEqual([replayed.kind, replayed.task.id], ['replayed', again.task.id]);
  },
);

testBoth('20 parallel creates with a released key make exactly one task', async ({ create }) => {
  for (let round = 0; round < 5; round += 1) {
    const { task, binding } = await makeTask(fixture);
    await failAndRelease(task.id);
    const outcomes = await Promise.all(Array.from({ length: 20 }, () => create(binding)));
    const fresh = sharedTask(outcomes);
    assert.deepEqual(await tasksOf(binding.accountId), [task.id, fresh.id]);
    const { paid } = await balances(db, binding.accountId);
    assert.deepEqual(paid, { available: 0, reserved: PRICE.credits });
  }
});

testBoth('creates during the release of their key end with one live task', async ({ create }) => {
  for (let round = 0; round < 10; round += 1) {
    const { task, binding } = await makeTask(fixture);
    const claimed = await claimTask(db, task.id);
    const options = { submitRetrySeconds: 600, cause: {} };
    const [, ...outcomes] = await Promise.all([
      db.transaction((tx) => retryOrFail(tx, claimed, options)),
      ...Array.from({ length: 6 }, () => create(binding)),
    ]);
    const text = `select id from tasks where account_id = $1 and phase <> 'failed'`;
    const live = await sql<{ id: string }>(db, text, [binding.accountId]);
    assert.equal(live.length, 1);
    for (const { task: seen } of outcomes) assert.equal(seen.id, live[0]?.id);
  }
});

testBoth('with a wait of 0 the task is announced from the start', async ({ way, create }) => {
  const { accountId } = await makeCustomer(db, 500);
  const waiting = await create(bindingFor(accountId));
  const deps = { ...fixture.deps, createWaitSeconds: 0 };
  const atOnce = await way(deps)(requestFor(bindingFor(accountId)));
  assert.equal(waiting.task.announced_at, null);
  assert.notEqual(atOnce.task.announced_at, null);
});

testBoth(
  'a given seed is kept; for -1 and without a seed, a random seed is recorded',
  async ({ create }) => {
    const { accountId } = await makeCustomer(db, 250 * 8);
    const seedOf = async (seed?: number) => {
      const request = seed === undefined ? REQUEST : { ...REQUEST, seed };
      return (await create(bindingFor(accountId), request)).task.seed;
    };
    for (const seed of [0, 7, 4_294_967_295]) assert.equal(await seedOf(seed), seed);
    const drawn = [await seedOf(-1), await seedOf(-1), await seedOf(), await seedOf()];
    assert.equal(new Set(drawn).size, 4);
    for (const seed of drawn) assert.ok(seed >= 0 && seed <= 4_294_967_295);
  },
);

testBoth(
  'a task, its reservation and its key are committed together or not at all',
  async ({ way, create }) => {
    const { accountId } = await makeCustomer(db, PRICE.credits);
    const binding = bindingFor(accountId);
    const broken = { ...requestFor(binding), provider: null as unknown as string };
    await assert.rejects(way(fixture.deps)(broken), { code: 'service_busy' });
    assert.deepEqual(await tasksOf(accountId), []);
    assert.equal((await balances(db, accountId)).paid.available, PRICE.credits);
    assert.equal((await create(binding)).kind, 'created');
  },
);

testBoth('without the database a create is service_busy', async ({ way }) => {
  const { url } = fixture.database;
  const closed = openDatabase({ url, connections: 1, log: fixture.deps.log });
  await closed.close();
  const attempt = way({ ...fixture.deps, db: closed })(requestFor(bindingFor('acct_x')));
  await assert.rejects(attempt, { code: 'service_busy', retryAfterSeconds: 1 });
});

const OPTIONS = { submitRetrySeconds: 600, cause: { provider: 'busy' } };

test('a task that was announced before it was not accepted is submitted again, not failed', async () => {
  const { task, binding } = await makeSubmittingTask(fixture);
  let refused: Promise<unknown> = Promise.resolve();
  await db.transaction(async (tx) => {
    assert.equal((await announce(tx, task.id))?.id, task.id);
    refused = db.transaction((other) => retryOrFail(other, task, OPTIONS));
    await untilBlocked(db);
  });
  assert.equal(await refused, 'postponed');
  assert.equal(await boundTask(binding.idempotencyKey), task.id);
});

test('a task that failed before it was announced, and whose key was released, can’t be announced', async () => {
  const { task, binding } = await makeSubmittingTask(fixture);
  let announced: Promise<unknown> = Promise.resolve();
  await db.transaction(async (tx) => {
    const failed = await retryOrFail(tx, task, OPTIONS);
    assert.ok(failed !== 'postponed' && failed.phase === 'failed');
    announced = announce(db, task.id);
    await untilBlocked(db);
  });
  assert.equal(await announced, undefined);
  assert.equal(await boundTask(binding.idempotencyKey), null);
});

async function boundTask(key: string): Promise<string | null | undefined> {
  const text = 'select task_id from idempotency_keys where key = $1';
  return (await sql<{ task_id: string | null }>(db, text, [key]))[0]?.task_id;
}

test('a task that is announced again keeps the time of the first announce', async () => {
  const { task } = await makeTask(fixture);
  const first = await announce(db, task.id);
  const second = await announce(db, task.id);
  assert.ok(first?.announced_at);
  assert.deepEqual(second?.announced_at, first.announced_at);
});
