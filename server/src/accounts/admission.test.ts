import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { makeCustomer } from '../../test/customer.ts';
import { openTestDatabase, quiet } from '../../test/database.ts';
import { freezeClock as freezeDatabaseClock } from '../../test/frozen-clock.ts';
import { sql } from '../../test/task-fixtures.ts';
import { type Database, openDatabase } from '../database/database.ts';
import { ApiError } from '../kernel/errors.ts';
import { openAdmission } from './admission.ts';
import { createKey, newSecret } from './api-keys.ts';
import { openKeyGate, REQUESTS_PER_WINDOW } from './key-gate.ts';

const READ = {
  columns: 'k.name, caller.argument',
  joins: 'join api_keys k on k.id = caller.key_id',
};

const API = { surface: 'api' };

type NameAndArgument = { name: string | null; argument: string };

/** One admission per connection pool: each pool stands for a process with one route. */
const admissions = new Map<Database, ReturnType<typeof openAdmission<NameAndArgument>>>();

function admitThrough(through: Database) {
  const gate = openKeyGate(through, () => Math.round(frozenAt * 1000));
  const known = admissions.get(through) ?? openAdmission(gate, 'admit_test', READ);
  admissions.set(through, known);
  return known;
}

/** The time of all processes of this file. */
let frozenAt = 0;

/** Sets the clocks of the database and of the processes. */
async function freezeClock(through: Database, at: number): Promise<void> {
  frozenAt = at;
  await freezeDatabaseClock(through, at);
}

const database = await openTestDatabase();
const { db } = database;

function ask(secret: string, through: Database = db) {
  return admitThrough(through)({ ...API, authorization: `Bearer ${secret}` });
}

/**
 * Sends this many requests at once.
 * @returns how many are admitted; the others must be `rate_limited`
 */
async function burst(secret: string, size: number, through: Database[] = [db]): Promise<number> {
  const requests = Array.from({ length: size }, (_, i) => ask(secret, through[i % through.length]));
  const outcomes = await Promise.allSettled(requests);
  const refused = outcomes.filter((outcome) => outcome.status === 'rejected');
  for (const { reason } of refused) {
    assert.ok(reason instanceof ApiError, String(reason));
    assert.equal(reason.code, 'rate_limited');
  }
  return size - refused.length;
}

/** The Retry-After of a request, in seconds; undefined if it is admitted. */
async function retryAfter(secret: string): Promise<number | undefined> {
  try {
    await ask(secret);
  } catch (error) {
    assert.ok(error instanceof ApiError);
    assert.equal(error.code, 'rate_limited');
    return error.retryAfterSeconds;
  }
  return undefined;
}

test('a burst over two processes admits exactly 30', async () => {
  const other = openDatabase({ url: database.url, connections: 6, log: quiet });
  const { secret } = await makeCustomer(db, 0);
  assert.equal(await burst(secret, 200, [db, other]), REQUESTS_PER_WINDOW);
  await other.close();
});

test('in any 60 seconds exactly 30 requests can be admitted, for any sequence of bursts', async () => {
  const gaps = fc.oneof(fc.integer({ min: 0, max: 12_000 }), fc.constantFrom(0, 60_000, 59_999));
  const bursts = fc.array(fc.record({ gap: gaps, size: fc.integer({ min: 1, max: 12 }) }), {
    minLength: 25,
    maxLength: 25,
  });
  await fc.assert(
    fc.asyncProperty(bursts, async (rush) => {
      const { secret } = await makeCustomer(db, 0);
      const hits: number[] = [];
      let now = 0;
      for (const { gap, size } of rush) {
        now += gap;
        await freezeClock(db, now / 1000);
        const recent = hits.filter((hit) => hit > now - 60_000).length;
        const expected = Math.min(size, REQUESTS_PER_WINDOW - recent);
        assert.equal(await burst(secret, size), expected, `at ${now} ms`);
        for (let i = 0; i < expected; i += 1) hits.push(now);
      }
    }),
    { numRuns: 8, endOnFailure: true },
  );
});

test('when the clock goes back, no more requests are admitted', async () => {
  const { secret } = await makeCustomer(db, 0);
  await freezeClock(db, 100);
  assert.equal(await burst(secret, 20), 20);
  await freezeClock(db, 0);
  assert.equal(await burst(secret, 40), 10);
  assert.equal(await retryAfter(secret), 60);
  await freezeClock(db, 60);
  assert.equal(await burst(secret, 5), 0);
  await freezeClock(db, 160);
  assert.equal(await burst(secret, 40), 30);
});

test('a key gets 401 from its expiry on, by the clock of the database', async () => {
  const { accountId } = await makeCustomer(db, 0);
  const expiresAt = new Date('2030-01-01T00:01:00Z');
  const { secret, keyId } = await createKey(db, { accountId, expiresAt });
  await freezeClock(db, 59.999);
  assert.equal((await ask(secret)).caller.keyId, keyId);
  await freezeClock(db, 60);
  await assert.rejects(ask(secret), { code: 'unauthorized' });
});

test('an unknown key of the right shape gets 401 and creates no window', async () => {
  const windows = () => sql(db, 'select subject from request_windows order by subject');
  const before = await windows();
  await assert.rejects(ask(newSecret()), { code: 'unauthorized' });
  assert.deepEqual(await windows(), before);
});

test('a malformed key or header is refused without a query', async () => {
  const closed = openDatabase({ url: database.url, connections: 1, log: quiet });
  await closed.close(); // a query would fail
  const secret = newSecret();
  const swapped = secret.endsWith('a') ? `${secret.slice(0, -1)}b` : `${secret.slice(0, -1)}a`;
  const junk = ['', 'fw_live_', 'x'.repeat(46), swapped, `${secret}0`, secret.toUpperCase()];
  junk.push(`${secret} ${secret}`, `${secret},`, 'x'.repeat(8000), "' or 1=1 --");
  const headers = [undefined, '', secret, `Basic ${secret}`, 'Bearer', 'Bearer  '];
  headers.push(`Bearer${secret}`);
  for (const authorization of [...headers, ...junk.map((text) => `Bearer ${text}`)]) {
    const malformed = admitThrough(closed)({ ...API, authorization });
    await assert.rejects(malformed, { code: 'unauthorized' }, String(authorization));
  }
  await assert.rejects(ask(secret, closed), /Cannot use a pool after calling end/);
});

test('the bearer scheme is case-insensitive, and spaces around the key are ignored', async () => {
  const { secret, keyId } = await makeCustomer(db, 0);
  for (const authorization of [`bearer ${secret}`, `BEARER   ${secret}  `]) {
    const admitted = await admitThrough(db)({ ...API, authorization });
    assert.equal(admitted.caller.keyId, keyId);
  }
});

test('requests that share a statement each get their own result', async () => {
  const customers = await Promise.all(Array.from({ length: 20 }, () => makeCustomer(db, 0)));
  const admit = openAdmission<NameAndArgument>(openKeyGate(db), 'admit_test', READ);
  const requests = customers.map(async ({ keyId, secret }, i) => {
    const bad = i % 4 === 0;
    const authorization = `Bearer ${bad ? newSecret() : secret}`;
    const request = admit({ ...API, authorization, argument: `argument ${i}` });
    if (bad) return assert.rejects(request, { code: 'unauthorized' });
    const { caller, row } = await request;
    assert.deepEqual([caller.keyId, row.argument], [keyId, `argument ${i}`]);
  });
  await Promise.all(requests);
});
