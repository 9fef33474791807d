import assert from 'node:assert/strict';
import { test } from 'node:test';
import { makeCustomer } from '../../../test/customer.ts';
import { createRandom, shuffled } from '../../../test/random.ts';
import { recordingLog } from '../../../test/recording-log.ts';
import {
  bindingFor,
  completeNow,
  createTask,
  openTaskFixture,
  PRICE,
  REQUEST,
  requestFor,
  sql,
  untilBlocked,
} from '../../../test/task-fixtures.ts';
import { type Database, DatabaseUnavailable, openDatabase } from '../../database/database.ts';
import { balances, grant } from '../../ledger/ledger.ts';
import type { Task } from '../task.ts';
import { moveNow } from '../transitions.ts';
import { type Created, taskCreator } from './create.ts';
import { type CheckedRequest, WEB_SURFACE } from './new-task.ts';

const fixture = await openTaskFixture('audited');
const { db } = fixture;

/** Counts the transactions of the creates that arrive together. */
function countTransactions() {
  let transactions = 0;
  const counting: Database = {
    ...db,
    transaction: (work) => {
      transactions += 1;
      return db.transaction(work);
    },
  };
  return { create: taskCreator({ ...fixture.deps, db: counting }), count: () => transactions };
}

function codeOf(outcome: PromiseSettledResult<Created> | undefined): string {
  if (outcome?.status === 'fulfilled') return outcome.value.kind;
  return outcome?.reason.code;
}

test('creates of many accounts that arrive together share a transaction', async () => {
  const requests = await requestsOfOthers(30);
  const { create, count } = countTransactions();
  const created = await Promise.all(requests.map(create));
  assert.deepEqual(
    created.map(({ task }) => task.account_id),
    requests.map(({ binding }) => binding.accountId),
  );
  assert.equal(count(), 1);
});

test('a refused create and a known key do not affect the others', async () => {
  const rich = await makeCustomer(db, PRICE.credits * 10);
  const poor = await makeCustomer(db, PRICE.credits - 1);
  const known = bindingFor(rich.accountId);
  const { create } = countTransactions();
  const first = await create(requestFor(known));
  const requests = [
    requestFor(bindingFor(rich.accountId)),
    requestFor(bindingFor(poor.accountId)),
    requestFor(known),
    requestFor(bindingFor(rich.accountId, known.idempotencyKey, 'another body')),
    requestFor(bindingFor(rich.accountId)),
  ];
  const outcomes = await Promise.allSettled(requests.map(create));
  assert.deepEqual(outcomes.map(codeOf), [
    'created',
    'insufficient_credits',
    'replayed',
    'idempotency_conflict',
    'created',
  ]);
  const [, , replayed] = outcomes;
  assert.ok(replayed?.status === 'fulfilled' && replayed.value.task.id === first.task.id);
  const { paid } = await balances(db, rich.accountId);
  assert.deepEqual(paid, { available: PRICE.credits * 7, reserved: PRICE.credits * 3 });
  const keyOfPoor = 'select 1 from idempotency_keys where account_id = $1';
  assert.deepEqual(await sql(db, keyOfPoor, [poor.accountId]), [], 'the key is not bound');
});

test('a create batched with one whose key has another body is created, not replayed', async () => {
  const { accountId } = await makeCustomer(db, PRICE.credits * 2);
  const web = (...args: [key?: string, body?: string]) =>
    requestFor({ ...bindingFor(accountId, ...args), surface: WEB_SURFACE });
  const create = taskCreator(fixture.deps);
  const known = web();
  await create(known);
  const requests = [web(), web(known.binding.idempotencyKey, 'another body')];
  const outcomes = await Promise.allSettled(requests.map(create));
  assert.deepEqual(outcomes.map(codeOf), ['created', 'idempotency_conflict']);
});

test('when the database refuses the text of one create, the others succeed', async () => {
  const { accountId } = await makeCustomer(db, PRICE.credits * 3);
  const refused = { ...REQUEST, prompt: 'A null character: \u0000' };
  const requests = [undefined, refused, undefined].map((request) =>
    requestFor(bindingFor(accountId), request),
  );
  const outcomes = await Promise.allSettled(requests.map(taskCreator(fixture.deps)));
  assert.deepEqual(outcomes.map(codeOf), ['created', 'service_busy', 'created']);
});

test('an account with credits for 25 of 60 creates gets 25, in the order of arrival', async () => {
  const { accountId } = await makeCustomer(db, PRICE.credits * 25);
  const { create, count } = countTransactions();
  const requests = Array.from({ length: 60 }, () => requestFor(bindingFor(accountId)));
  const codes = (await Promise.allSettled(requests.map(create))).map(codeOf);
  assert.deepEqual(codes.slice(0, 25), Array(25).fill('created'));
  assert.deepEqual(codes.slice(25), Array(35).fill('insufficient_credits'));
  assert.equal(count(), 1, 'no refused create needs a transaction of its own');
});

test('processes that create with the same keys and accounts at once neither deadlock nor create twice', async () => {
  const random = createRandom(20);
  const { log, lines } = recordingLog();
  const processes = Array.from({ length: 4 }, () => taskCreator({ ...fixture.deps, log }));
  const customers = await Promise.all(
    Array.from({ length: 4 }, () => makeCustomer(db, PRICE.credits * 16 * 8)),
  );
  for (let round = 0; round < 8; round += 1) {
    const requests = customers.flatMap(({ accountId }) =>
      Array.from({ length: 16 }, () => requestFor(bindingFor(accountId))),
    );
    const outcomes = await Promise.all(
      processes.flatMap((create) => shuffled(requests, random).map(create)),
    );
    assert.equal(outcomes.filter(({ kind }) => kind === 'created').length, requests.length);
    assert.equal(new Set(outcomes.map(({ task }) => task.id)).size, requests.length);
  }
  assert.deepEqual(lines, []);
});

test('when it is not known whether the transaction committed, every create is service_busy', async () => {
  const { accountId } = await makeCustomer(db, PRICE.credits * 2);
  const requests = [requestFor(bindingFor(accountId)), requestFor(bindingFor(accountId))];
  const losing: Database = {
    ...db,
    async transaction(work) {
      await db.transaction(work);
      throw new DatabaseUnavailable(new Error('the response to the commit was lost'));
    },
  };
  const create = taskCreator({ ...fixture.deps, db: losing });
  const outcomes = await Promise.allSettled(requests.map(create));
  assert.deepEqual(outcomes.map(codeOf), ['service_busy', 'service_busy']);
  const retried = await Promise.allSettled(requests.map(taskCreator(fixture.deps)));
  assert.deepEqual(retried.map(codeOf), ['replayed', 'replayed']);
});

/** Requests of this many other accounts, one each. */
async function requestsOfOthers(count: number): Promise<CheckedRequest[]> {
  const made = Array.from({ length: count }, () => makeCustomer(db, PRICE.credits));
  return (await Promise.all(made)).map(({ accountId }) => requestFor(bindingFor(accountId)));
}

/** Does the work while a transaction locks the balance of an account. */
async function whileLocked<T>(accountId: string, work: () => Promise<T>): Promise<T> {
  return db.transaction(async (tx) => {
    await sql(tx, 'select 1 from ledger_balances where account_id = $1 for update', [accountId]);
    return work();
  });
}

/** Fails if the work waits for a lock, which is held until the work is done or 5 seconds are over. */
async function assertFast(title: string, work: () => Promise<unknown>): Promise<void> {
  const startedAt = performance.now();
  await work();
  const milliseconds = Math.round(performance.now() - startedAt);
  console.log(`${title}: ${milliseconds} ms`);
  assert.ok(milliseconds < 2500, title);
}

test('a create whose balance is locked delays no other account', async () => {
  const { log, lines } = recordingLog();
  const { accountId } = await makeCustomer(db, PRICE.credits * 3);
  const others = await requestsOfOthers(63);
  const create = taskCreator({ ...fixture.deps, log });
  const { locked } = await whileLocked(accountId, async () => {
    const waiting = Promise.all([1, 2].map(() => create(requestFor(bindingFor(accountId)))));
    await assertFast('63 creates beside a locked balance', () => Promise.all(others.map(create)));
    return { locked: waiting };
  });
  const kinds = (await locked).map(({ kind }) => kind);
  assert.deepEqual(kinds, ['created', 'created']);
  const { paid } = await balances(db, accountId);
  assert.deepEqual(paid, { available: PRICE.credits, reserved: PRICE.credits * 2 });
  assert.deepEqual(lines, []);
});

test('a create whose key is being bound delays no other account', async () => {
  const { log, lines } = recordingLog();
  const { accountId } = await makeCustomer(db, PRICE.credits * 2);
  const others = await requestsOfOthers(30);
  const checked = requestFor(bindingFor(accountId));
  const create = taskCreator({ ...fixture.deps, log });
  const { outcomes } = await whileLocked(accountId, async () => {
    const binding = createTask(fixture.deps, checked);
    await untilBlocked(db);
    const waiting = Promise.all([binding, create(checked)]);
    await assertFast('30 creates beside a locked key', () => Promise.all(others.map(create)));
    return { outcomes: waiting };
  });
  const [first, second] = await outcomes;
  assert.deepEqual([first.kind, second.kind], ['created', 'replayed']);
  assert.equal(first.task.id, second.task.id);
  const { paid } = await balances(db, accountId);
  assert.deepEqual(paid, { available: PRICE.credits, reserved: PRICE.credits });
  assert.deepEqual(lines, []);
});

test('when a balance stays locked, all creates that wait for it are refused together', async (t) => {
  const { log, lines } = recordingLog();
  const { accountId } = await makeCustomer(db, PRICE.credits * 100);
  const { url } = fixture.database;
  const impatient = openDatabase({ url, connections: 5, log, statementSeconds: 0.5 });
  t.after(() => impatient.close());
  const create = taskCreator({ ...fixture.deps, db: impatient, log });
  const requests = Array.from({ length: 100 }, () => requestFor(bindingFor(accountId)));
  await whileLocked(accountId, async () => {
    const outcomes = await Promise.allSettled(requests.map(create));
    assert.deepEqual(outcomes.map(codeOf), Array(100).fill('service_busy'));
  });
  assert.equal(lines.length, 1, 'one transaction waited');
  const retried = await Promise.all(requests.map(create));
  const kinds = retried.map(({ kind }) => kind);
  assert.deepEqual(kinds, Array(100).fill('created'));
});

async function customer(credits: { paid: number; promotional: number }): Promise<string> {
  const { accountId } = await makeCustomer(db, credits.paid);
  const given = { accountId, kind: 'promotional', reference: accountId } as const;
  await grant(db, { ...given, credits: credits.promotional });
  return accountId;
}

function webRequest(accountId: string) {
  return requestFor({ ...bindingFor(accountId), surface: WEB_SURFACE });
}

async function webTask(accountId: string): Promise<Task> {
  return (await createTask(fixture.deps, webRequest(accountId))).task;
}

/** `available/reserved` of each kind. */
async function balancesOf(accountId: string): Promise<string[]> {
  const { promotional, paid } = await balances(db, accountId);
  return [promotional, paid].map(({ available, reserved }) => `${available}/${reserved}`);
}

test('a task of the website spends promotional credits first, an API task spends none', async () => {
  const accountId = await customer({ paid: 2 * PRICE.credits, promotional: 100 });
  const web = await webTask(accountId);
  assert.equal(web.promotional_credits, 100);
  assert.deepEqual(await balancesOf(accountId), ['0/100', '350/150']);
  await createTask(fixture.deps, requestFor(bindingFor(accountId)));
  assert.deepEqual(await balancesOf(accountId), ['0/100', '100/400']);
});

test('a create of the website that can’t be paid leaves its key and both balances alone', async () => {
  const accountId = await customer({ paid: 100, promotional: 100 });
  const checked = webRequest(accountId);
  const details = { required_credits: PRICE.credits };
  const refused = createTask(fixture.deps, checked);
  await assert.rejects(refused, { code: 'insufficient_credits', details });
  assert.deepEqual(await balancesOf(accountId), ['100/0', '100/0']);
  const keys = await sql(db, 'select from idempotency_keys where account_id = $1', [accountId]);
  assert.equal(keys.length, 0);
});

for (const phase of ['completed', 'failed'] as const) {
  test(`a ${phase} task of the website settles both kinds of credits`, async () => {
    const accountId = await customer({ paid: PRICE.credits, promotional: 100 });
    const task = await webTask(accountId);
    const insert = `insert into stored_objects (id, owner_id, role, state, media_type, delete_after)
      values ('obj_' || $1, $1, 'output', 'deleted', 'video/mp4', clock_now())`;
    await sql(db, insert, [task.id]);
    const error = { code: 'provider_failed', message: 'No.' } as const;
    if (phase === 'failed') await moveNow(db, task, { to: phase, changes: { error } });
    else await completeNow(db, task, { outputObjectId: `obj_${task.id}` });
    const settled = { completed: ['0/0', '100/0'], failed: ['100/0', '250/0'] };
    assert.deepEqual(await balancesOf(accountId), settled[phase]);
  });
}
