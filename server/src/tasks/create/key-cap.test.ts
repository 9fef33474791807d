import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import fc from 'fast-check';
import { makeCustomer } from '../../../test/customer.ts';
import { freezeClock } from '../../../test/frozen-clock.ts';
import {
  bindingFor,
  claimTask,
  openTaskFixture,
  PRICE,
  REQUEST,
  requestFor,
  sql,
} from '../../../test/task-fixtures.ts';
import { createKey, revokeAllKeys, updateKey } from '../../accounts/api-keys.ts';
import { ApiError } from '../../kernel/errors.ts';
import { audit } from '../../operator/audit.ts';
import { moveNow } from '../transitions.ts';
import { taskCreator } from './create.ts';
import { spentThisMonth } from './key-cap.ts';

after(async () => {
  const { problems } = await audit(db);
  const others = problems.filter((problem) => !problem.includes('of the price of'));
  assert.deepEqual(others, [], 'the credits of these tasks are invented, nothing else is');
});
const fixture = await openTaskFixture();
const { db } = fixture;

/** A customer with many credits, and an API key with this cap. */
async function keyWithCap(monthlyCap: number | undefined) {
  const { accountId } = await makeCustomer(db, 100_000);
  const { keyId } = await createKey(db, { accountId, monthlyCap });
  return { accountId, keyId };
}

interface Key {
  accountId: string;
  keyId: string;
  /** As it was read at the admission. */
  hasCap?: boolean;
}

/** Creates as a process does. @returns the id of the task, or the error */
function creating() {
  const create = taskCreator(fixture.deps);
  return async ({ accountId, keyId, hasCap = true }: Key, credits = PRICE.credits) => {
    const binding = { ...bindingFor(accountId), apiKey: { id: keyId, hasCap } };
    const checked = requestFor(binding, REQUEST, { ...PRICE, credits });
    return create(checked).then(
      ({ task }) => task.id,
      (error: unknown) => {
        if (error instanceof ApiError) return error;
        throw error;
      },
    );
  };
}

async function spent({ keyId }: Key): Promise<number | undefined> {
  return (await spentThisMonth(db, [keyId])).get(keyId);
}

async function refund(taskId: string): Promise<void> {
  const error = { code: 'provider_unavailable', message: 'No provider took it.' } as const;
  await moveNow(db, await claimTask(db, taskId), {
    to: 'failed',
    changes: { error },
    cause: {},
  });
}

test('parallel creates of several processes never exceed a cap, and refunds free it', async () => {
  const history = fc.record({
    cap: fc.integer({ min: 0, max: 2000 }),
    prices: fc.array(fc.integer({ min: 1, max: 900 }), { minLength: 1, maxLength: 10 }),
  });
  await fc.assert(
    fc.asyncProperty(history, async ({ cap, prices }) => {
      const key = await keyWithCap(cap);
      const processes = [creating(), creating()];
      const send = async (credits: number, i: number) => ({
        credits,
        result: await processes[i % 2]?.(key, credits),
      });
      const sent = await Promise.all(prices.map(send));
      const accepted = sent.filter(({ result }) => typeof result === 'string');
      const total = accepted.reduce((sum, { credits }) => sum + credits, 0);
      assert.equal(await spent(key), total);
      assert.ok(total <= cap);
      for (const { credits, result } of sent) {
        if (typeof result === 'string') continue;
        assert.equal(result?.code, 'insufficient_credits');
        const { used, ...rest } = result?.details ?? {};
        assert.deepEqual(rest, {
          reason: 'key_cap',
          required_credits: credits,
          monthly_cap: cap,
        });
        assert.ok(Number(used) + credits > cap && Number(used) <= total);
      }
      for (const { result } of accepted) await refund(String(result));
      assert.equal(await spent(key), 0);
    }),
    { numRuns: 12 },
  );
});

test('a cap that is set, lowered or removed counts from the next create on', async () => {
  const create = creating();
  const key = await keyWithCap(undefined);
  const status = async (hasCap: boolean) => {
    const result = await create({ ...key, hasCap });
    return typeof result === 'string' ? 'created' : result.details;
  };
  assert.equal(await status(false), 'created');
  await updateKey(db, key.keyId, { monthlyCap: 2 * PRICE.credits });
  assert.equal(await status(true), 'created', 'what was spent before counts');
  const details = { reason: 'key_cap', required_credits: PRICE.credits };
  const used = 2 * PRICE.credits;
  assert.deepEqual(await status(true), { ...details, monthly_cap: used, used });
  await updateKey(db, key.keyId, { monthlyCap: 3 * PRICE.credits });
  assert.equal(await status(true), 'created');
  await updateKey(db, key.keyId, { monthlyCap: 0 });
  assert.deepEqual(await status(true), { ...details, monthly_cap: 0, used: 3 * PRICE.credits });
  await updateKey(db, key.keyId, { monthlyCap: null });
  assert.equal(await status(true), 'created', 'the admission was before the change');
});

test('a cap limits one API key; a refused create binds no Idempotency-Key and reserves no credits', async () => {
  const create = creating();
  const key = await keyWithCap(PRICE.credits);
  const other = { ...key, keyId: (await createKey(db, key)).keyId, hasCap: false };
  assert.equal(typeof (await create(key)), 'string');
  assert.ok((await create(key)) instanceof ApiError);
  assert.equal(typeof (await create(other)), 'string');
  const select = `select (select count(*)::int from idempotency_keys where account_id = $1) as keys,
      (select reserved from ledger_balances where account_id = $1 and kind = 'paid') as reserved`;
  const [counts] = await sql(db, select, [key.accountId]);
  assert.deepEqual(counts, { keys: 2, reserved: 2 * PRICE.credits });
});

test('creates and the revocation of their API key do not deadlock', async () => {
  const create = creating();
  const key = await keyWithCap(100 * PRICE.credits);
  const creates = Array.from({ length: 5 }, () => create(key));
  const [revoked] = await revokeAllKeys(db, key.accountId);
  assert.ok(revoked);
  for (const result of await Promise.all(creates)) assert.equal(typeof result, 'string');
});

test('a month begins at midnight UTC, and ended tasks of it count', async () => {
  const own = await openTaskFixture();
  const { db } = own;
  const { accountId } = await makeCustomer(db, 10 * PRICE.credits);
  const { keyId } = await createKey(db, { accountId, monthlyCap: PRICE.credits });
  const create = taskCreator(own.deps);
  const apiKey = { id: keyId, hasCap: true };
  const checked = () => requestFor({ ...bindingFor(accountId), apiKey });
  const used = async () => (await spentThisMonth(db, [keyId])).get(keyId);
  await freezeClock(db, 0); // 2030-01-01T00:00:00Z
  const { task } = await create(checked());
  await assert.rejects(create(checked()), { code: 'insufficient_credits' });
  await sql(
    db,
    `update tasks set phase = 'completed', due_at = null, output_object_id = 'obj_' || id
     where id = $1`,
    [task.id],
  );
  await freezeClock(db, 19 * 24 * 3600);
  assert.equal(await used(), PRICE.credits, 'still the same month');
  await assert.rejects(create(checked()), { code: 'insufficient_credits' });
  await freezeClock(db, 31 * 24 * 3600); // 2030-02-01T00:00:00Z
  assert.equal(await used(), 0);
  await create(checked());
});
