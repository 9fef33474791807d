import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';
import { openTestApp, type TestCustomer } from '../../test/app.ts';
import { quiet } from '../../test/database.ts';
import { assertError } from '../../test/envelope.ts';
import { freezeClock } from '../../test/frozen-clock.ts';
import { bindingFor, claimTask, createTask, requestFor, sql } from '../../test/task-fixtures.ts';
import { createAccount } from '../accounts/accounts.ts';
import { createKey } from '../accounts/api-keys.ts';
import { balances } from '../ledger/ledger.ts';
import { ACCOUNTS } from '../operator/verbs/accounts.ts';
import { moveNow } from '../tasks/transitions.ts';
import { pauseRefusedAccounts } from './account-pause.ts';
import { keepVerdict } from './verdicts.ts';

const BODY = { prompt: 'A lighthouse at dusk' };
const CREDITS = 100_000;
const LIMIT = 3;
const HOUR = 3600;
const OPERATOR = 'Grace@example.com';

const api = await openTestApp();
const { db } = api.database;
const operatorId = await createAccount(db, OPERATOR);
let customer: TestCustomer;
beforeEach(async () => {
  await freezeClock(db, 0);
  await sql(db, 'delete from mails');
  await sql(db, `update tasks set updated_at = '-infinity'`);
  customer = await api.customer(CREDITS);
});

/** Lets a provider, or moderation, refuse this many tasks of an account. @returns their ids */
async function refuse(count: number, accountId = customer.accountId): Promise<string[]> {
  const ids = Array.from({ length: count }, async () => {
    const { task } = await createTask(api.deps, requestFor(bindingFor(accountId)));
    const error = { code: 'content_refused', message: 'No.' } as const;
    await moveNow(db, await claimTask(db, task.id), { to: 'failed', changes: { error } });
    return task.id;
  });
  return Promise.all(ids);
}

/** @returns the accounts that got a mail */
async function pauseAccounts(refusalLimit = LIMIT): Promise<string[]> {
  await pauseRefusedAccounts({
    db,
    log: quiet,
    refusalLimit,
    adminEmails: new Set([OPERATOR.toLowerCase()]),
    publicUrl: () => 'https://video.example',
  });
  const text = 'delete from mails returning account_id';
  return (await sql<{ account_id: string }>(db, text)).map((row) => row.account_id).sort();
}

async function resume(): Promise<unknown> {
  const run = ACCOUNTS['accounts resume'].prepare({ account: customer.accountId });
  const action = { command: 'accounts resume', actor: 'a test', reason: 'ticket 96' };
  return run({ db, log: quiet, page: { limit: 1, after: undefined } }, action);
}

test('an account with too many refusals gets 503 and reserves nothing, and owner and operator get one mail', async () => {
  const first = await customer.create(BODY, { 'idempotency-key': 'known' });
  await refuse(LIMIT - 1);
  assert.deepEqual(await pauseAccounts(), []);
  assert.equal((await customer.create(BODY)).status, 202);
  const { reserved } = (await balances(db, customer.accountId)).paid;
  await refuse(1);
  assert.deepEqual(await pauseAccounts(), [customer.accountId, operatorId].sort());
  assert.deepEqual(await pauseAccounts(), [], 'once');
  const refused = await customer.create(BODY, { 'idempotency-key': 'new' });
  assertError(refused, 'service_busy', {
    reason: 'account_paused',
    charged: 'no',
    retry: 'same_key',
  });
  assert.equal(refused.headers['retry-after'], String(24 * HOUR));
  assert.equal((await balances(db, customer.accountId)).paid.reserved, reserved);
  const known = await customer.create(BODY, { 'idempotency-key': 'known' });
  assert.deepEqual([known.status, known.body.id], [200, first.body.id]);
  const text = `select from idempotency_keys where account_id = $1 and key = 'new'`;
  assert.equal((await sql(db, text, [customer.accountId])).length, 0);
  const { secret } = await createKey(db, { accountId: customer.accountId, mode: 'test' });
  const tested = await customer.create(BODY, { authorization: `Bearer ${secret}` });
  assert.notEqual(tested.body.error?.details.reason, 'account_paused', 'test keys go on');
});

test('a pause ends after a day, or when an operator ends it, and earlier refusals don’t count again', async () => {
  await refuse(LIMIT);
  await pauseAccounts();
  assert.deepEqual(await resume(), {
    account_id: customer.accountId,
    paused: false,
    changed: true,
  });
  assert.equal((await customer.create(BODY)).status, 202);
  assert.deepEqual(await pauseAccounts(), []);
  await freezeClock(db, 60);
  await refuse(LIMIT);
  assert.equal((await pauseAccounts()).length, 2);
  assert.equal((await customer.create(BODY)).status, 503);
  await freezeClock(db, 60 + 24 * HOUR);
  assert.equal((await customer.create(BODY)).status, 202);
  await freezeClock(db, 60 + 25 * HOUR);
  await refuse(LIMIT);
  await freezeClock(db, -30 * 24 * HOUR);
  assert.equal((await customer.create(BODY)).status, 202, 'the clock was set back');
  assert.deepEqual(await pauseAccounts(), [], 'those refusals are not of the last hour');
  await refuse(LIMIT);
  assert.equal((await pauseAccounts()).length, 2, 'new ones count');
});

test('refusals don’t count after an hour, for test keys, for operators, or if nobody decided a review', async () => {
  const [undecided = ''] = await refuse(LIMIT);
  await keepVerdict(db, undecided, { verdict: 'review', source: 'service', reason: null });
  await refuse(LIMIT, await operatorWithCredits());
  assert.deepEqual(await pauseAccounts(), []);
  await refuse(1);
  await freezeClock(db, HOUR);
  assert.deepEqual(await pauseAccounts(), []);
  await refuse(LIMIT);
  const update = `update tasks set surface = 'test', provider = 'scripted'
    where id in (select id from tasks where account_id = $1 order by updated_at desc limit 1)`;
  await sql(db, update, [customer.accountId]);
  assert.deepEqual(await pauseAccounts(), []);
  await refuse(1);
  assert.deepEqual(await pauseAccounts(0), [], '0: off');
  assert.equal((await pauseAccounts()).length, 2);
});

/** The operator's account, with credits of its own. */
async function operatorWithCredits(): Promise<string> {
  await sql(db, 'update accounts set email = $1 where id = $2', ['nobody@example.com', operatorId]);
  const { accountId } = await api.customer(CREDITS);
  await sql(db, 'update accounts set email = $1 where id = $2', [OPERATOR, accountId]);
  return accountId;
}
