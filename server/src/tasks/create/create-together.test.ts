import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { makeCustomer } from '../../../test/customer.ts';
import { createRandom, shuffled } from '../../../test/random.ts';
import { recordingLog } from '../../../test/recording-log.ts';
import {
  bindingFor,
  openTaskFixture,
  orderFor,
  PRICE,
  REQUEST,
  sql,
  type TaskFixture,
} from '../../../test/task-fixtures.ts';
import { type Database, DatabaseUnavailable } from '../../database/database.ts';
import { balances, grant } from '../../ledger/ledger.ts';
import type { Created } from './create.ts';
import { openCreates } from './create-together.ts';
import type { Order } from './order.ts';

let fixture: TaskFixture;
let db: Database;

before(async () => {
  fixture = await openTaskFixture();
  db = fixture.db;
});
after(() => fixture.closeAudited());

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
  return { create: openCreates({ ...fixture.deps, db: counting }), count: () => transactions };
}

function codeOf(outcome: PromiseSettledResult<Created> | undefined): string {
  if (outcome?.status === 'fulfilled') return outcome.value.kind;
  return outcome?.reason.code;
}

test('creates of many accounts that arrive together share a transaction', async () => {
  const orders: Order[] = [];
  for (let i = 0; i < 30; i += 1) {
    const { accountId } = await makeCustomer(db, PRICE.credits);
    orders.push(orderFor(bindingFor(accountId)));
  }
  const { create, count } = countTransactions();
  const created = await Promise.all(orders.map(create));
  assert.deepEqual(
    created.map(({ task }) => task.account_id),
    orders.map(({ binding }) => binding.accountId),
  );
  assert.equal(count(), 1);
});

test('a refused create and a known key do not affect the others', async () => {
  const rich = await makeCustomer(db, PRICE.credits * 10);
  const poor = await makeCustomer(db, PRICE.credits - 1);
  const known = bindingFor(rich.accountId);
  const { create } = countTransactions();
  const first = await create(orderFor(known));
  const orders = [
    orderFor(bindingFor(rich.accountId)),
    orderFor(bindingFor(poor.accountId)),
    orderFor(known),
    orderFor(bindingFor(rich.accountId, known.idempotencyKey, 'another body')),
    orderFor(bindingFor(rich.accountId)),
  ];
  const outcomes = await Promise.allSettled(orders.map(create));
  assert.deepEqual(outcomes.map(codeOf), [
    ...['created', 'insufficient_credits', 'replayed', 'idempotency_conflict', 'created'],
  ]);
  const [, , replayed] = outcomes;
  assert.ok(replayed?.status === 'fulfilled' && replayed.value.task.id === first.task.id);
  const { paid } = await balances(db, rich.accountId);
  assert.deepEqual(paid, { available: PRICE.credits * 7, reserved: PRICE.credits * 3 });
  const keyOfPoor = 'select 1 from idempotency_keys where account_id = $1';
  assert.deepEqual(await sql(db, keyOfPoor, [poor.accountId]), [], 'the key is not bound');
});

test('when the database refuses a text, the other creates are done', async () => {
  const { accountId } = await makeCustomer(db, PRICE.credits * 3);
  const refused = { ...REQUEST, prompt: 'A null character: \u0000' };
  const orders = [undefined, refused, undefined].map((request) =>
    orderFor(bindingFor(accountId), request),
  );
  const outcomes = await Promise.allSettled(orders.map(openCreates(fixture.deps)));
  assert.deepEqual(outcomes.map(codeOf), ['created', 'service_busy', 'created']);
});

test('an account with credits for 25 of 60 creates gets 25, in the order of arrival', async () => {
  const { accountId } = await makeCustomer(db, PRICE.credits * 25);
  const { create, count } = countTransactions();
  const orders = Array.from({ length: 60 }, () => orderFor(bindingFor(accountId)));
  const codes = (await Promise.allSettled(orders.map(create))).map(codeOf);
  assert.deepEqual(codes.slice(0, 25), Array(25).fill('created'));
  assert.deepEqual(codes.slice(25), Array(35).fill('insufficient_credits'));
  assert.equal(count(), 1, 'no refused create needs a transaction of its own');
});

test('processes that create with the same keys and accounts at once neither deadlock nor create twice', async () => {
  const random = createRandom(20);
  const { log, lines } = recordingLog();
  const processes = Array.from({ length: 4 }, () => openCreates({ ...fixture.deps, log }));
  const customers = await Promise.all(
    Array.from({ length: 4 }, () => makeCustomer(db, PRICE.credits * 16 * 8)),
  );
  for (let round = 0; round < 8; round += 1) {
    const orders = customers.flatMap(({ accountId }) =>
      Array.from({ length: 16 }, () => orderFor(bindingFor(accountId))),
    );
    const outcomes = await Promise.all(
      processes.flatMap((create) => shuffled(orders, random).map(create)),
    );
    assert.equal(outcomes.filter(({ kind }) => kind === 'created').length, orders.length);
    assert.equal(new Set(outcomes.map(({ task }) => task.id)).size, orders.length);
  }
  assert.deepEqual(lines, []);
});

test('when it is not known whether the transaction committed, every create is service_busy', async () => {
  const { accountId } = await makeCustomer(db, PRICE.credits * 2);
  const orders = [orderFor(bindingFor(accountId)), orderFor(bindingFor(accountId))];
  const losing: Database = {
    ...db,
    async transaction(work) {
      await db.transaction(work);
      throw new DatabaseUnavailable(new Error('the response to the commit was lost'));
    },
  };
  const create = openCreates({ ...fixture.deps, db: losing });
  const outcomes = await Promise.allSettled(orders.map(create));
  assert.deepEqual(outcomes.map(codeOf), ['service_busy', 'service_busy']);
  const retried = await Promise.all(orders.map(openCreates(fixture.deps)));
  assert.deepEqual(
    retried.map(({ kind }) => kind),
    ['replayed', 'replayed'],
  );
});

test('credits that have expired pay for nothing', async () => {
  const { accountId } = await makeCustomer(db, PRICE.credits);
  const expiresAt = new Date(Date.now() + 3_600_000);
  const lot = { accountId, credits: PRICE.credits, kind: 'paid', reference: accountId } as const;
  await grant(db, { ...lot, expiresAt });
  await fixture.database.setClock(7200);
  const orders = [orderFor(bindingFor(accountId)), orderFor(bindingFor(accountId))];
  const outcomes = await Promise.allSettled(orders.map(openCreates(fixture.deps)));
  assert.deepEqual(outcomes.map(codeOf).sort(), ['created', 'insufficient_credits']);
});
