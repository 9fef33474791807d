import assert from 'node:assert/strict';
import { test } from 'node:test';
import { makeCustomer } from '../../test/customer.ts';
import { openTestDatabase } from '../../test/database.ts';
import { freezeClock } from '../../test/frozen-clock.ts';
import type { Queryable } from '../database/database.ts';
import { ApiError } from '../kernel/errors.ts';
import { disableAccount } from './accounts.ts';
import { openAdmission } from './admission.ts';
import { createKey, newSecret, revokeKey } from './api-keys.ts';
import { openKeyGate, REQUESTS_PER_WINDOW } from './key-gate.ts';
import { countRequest } from './rate-window.ts';

const database = await openTestDatabase();
const { db } = database;

/** A process of its own: its admission, its clock, and the statements that it sends. */
function openProcess(send: Queryable['query'] = (...given) => db.query(...given)) {
  const statements: { name: string; values: readonly unknown[] }[] = [];
  let milliseconds = 0;
  const counting: Queryable = {
    query(sql, values = []) {
      statements.push({ name: sql.name, values });
      return send(sql, values);
    },
  };
  const admit = openAdmission(
    openKeyGate(counting, () => milliseconds),
    'admit_gate_test',
  );
  return {
    ask: (secret: string) => admit({ authorization: `Bearer ${secret}`, surface: 'api' }),
    sent: (name: string) => statements.filter((one) => one.name === name),
    passTime: (seconds: number) => {
      milliseconds += seconds * 1000;
    },
  };
}

async function codeOf(request: Promise<unknown>): Promise<string> {
  return request.then(
    () => 'admitted',
    (error) => (error instanceof ApiError ? error.code : String(error)),
  );
}

function hashesIn(sent: { values: readonly unknown[] }[]): number[] {
  return sent.map(({ values: [hashes] }) => (hashes as Buffer[]).length);
}

test('invented API keys reach no admitting statement; they are looked up 64 at a time', async () => {
  let running = 0;
  const { ask, sent } = openProcess(async (sql, values) => {
    if (sql.name !== 'key_look_up') return db.query(sql, values);
    running += 1;
    assert.equal(running, 1);
    const rows = await db.query(sql, values);
    running -= 1;
    return rows as never;
  });
  const { secret } = await makeCustomer(db, 0);
  const invented = Array.from({ length: 300 }, () => codeOf(ask(newSecret())));
  assert.equal(await codeOf(ask(secret)), 'admitted');
  assert.deepEqual(new Set(await Promise.all(invented)), new Set(['unauthorized']));
  assert.deepEqual(hashesIn(sent('admit_gate_test')), [1]);
  assert.deepEqual(hashesIn(sent('key_look_up')), [64, 64, 64, 64, 44]);
});

/** A process whose look-ups of unknown keys never end. */
function openHanging() {
  const { promise: never } = Promise.withResolvers<never>();
  return openProcess((sql, values) => (sql.name === 'key_look_up' ? never : db.query(sql, values)));
}

test('a key in use is admitted while the look-up of invented keys hangs', async () => {
  const { ask } = openHanging();
  const { secret } = await makeCustomer(db, 0);
  assert.equal(await codeOf(ask(secret)), 'admitted');
  for (let count = 0; count < 300; count += 1) void ask(newSecret());
  assert.equal(await codeOf(ask(secret)), 'admitted');
});

test('beyond 5,000 waiting unknown keys the response is 503 with Retry-After', async () => {
  const { ask } = openHanging();
  for (let count = 0; count < 5000; count += 1) void ask(newSecret());
  await assert.rejects(ask(newSecret()), { code: 'service_busy', retryAfterSeconds: 1 });
});

test('an invented key is refused from memory for 10 s', async () => {
  const { ask, sent, passTime } = openProcess();
  const invented = newSecret();
  for (let count = 0; count < 5; count += 1) {
    assert.equal(await codeOf(ask(invented)), 'unauthorized');
  }
  assert.equal(sent('key_look_up').length, 1);
  passTime(10);
  assert.equal(await codeOf(ask(invented)), 'unauthorized');
  assert.equal(sent('key_look_up').length, 2);
});

test('revoked keys and keys of disabled accounts get 401 at the next request and the ones after', async () => {
  const { ask, sent } = openProcess();
  const revoked = await makeCustomer(db, 0);
  const disabled = await makeCustomer(db, 0);
  for (const { secret } of [revoked, disabled]) assert.equal(await codeOf(ask(secret)), 'admitted');
  await revokeKey(db, revoked.keyId);
  const others = [await createKey(db, revoked), await createKey(db, disabled)];
  await disableAccount(db, disabled.accountId);
  const before = sent('admit_gate_test').length;
  for (let count = 0; count < 3; count += 1) {
    for (const { secret } of [revoked, disabled]) {
      assert.equal(await codeOf(ask(secret)), 'unauthorized');
    }
  }
  assert.equal(sent('admit_gate_test').length, before + 2, 'then they count as unknown keys');
  const codes = await Promise.all(others.map(({ secret }) => codeOf(ask(secret))));
  assert.deepEqual(codes, ['admitted', 'unauthorized']);
});

test('a full window is refused from memory until Retry-After is over', async () => {
  await freezeClock(db, 0);
  const { ask, sent, passTime } = openProcess();
  const { secret } = await makeCustomer(db, 0);
  const burst = Array.from({ length: 500 }, () => codeOf(ask(secret)));
  const codes = await Promise.all(burst);
  assert.equal(codes.filter((code) => code === 'admitted').length, REQUESTS_PER_WINDOW);
  assert.equal(sent('admit_gate_test').length, REQUESTS_PER_WINDOW + 1);
  passTime(0.9);
  await assert.rejects(ask(secret), { code: 'rate_limited', retryAfterSeconds: 60 });
  assert.equal(sent('admit_gate_test').length, REQUESTS_PER_WINDOW + 1);
  passTime(59.1);
  await freezeClock(db, 60);
  assert.equal(await codeOf(ask(secret)), 'admitted');
});

test('a limited key asks the database once a second, so a revoked one gets 401', async () => {
  await freezeClock(db, 0);
  const { ask, sent, passTime } = openProcess();
  const { secret, keyId } = await makeCustomer(db, 0);
  for (let count = 0; count <= REQUESTS_PER_WINDOW; count += 1) await codeOf(ask(secret));
  const before = sent('admit_gate_test').length;
  passTime(1);
  const codes = await Promise.all(Array.from({ length: 20 }, () => codeOf(ask(secret))));
  assert.deepEqual(new Set(codes), new Set(['rate_limited']));
  assert.equal(sent('admit_gate_test').length, before + 1);
  await revokeKey(db, keyId);
  passTime(1);
  assert.equal(await codeOf(ask(secret)), 'unauthorized');
});

test('when the database fails, the requests of a key that wait for each other fail at once', async () => {
  let failures = 0;
  const { secret } = await makeCustomer(db, 0);
  const { ask } = openProcess((sql, values) => {
    if (sql.name !== 'admit_gate_test') return db.query(sql, values);
    failures += 1;
    return Promise.reject(new Error('the connection broke'));
  });
  const codes = await Promise.all(Array.from({ length: 20 }, () => codeOf(ask(secret))));
  assert.deepEqual(new Set(codes), new Set(['Error: the connection broke']));
  assert.equal(failures, 1);
});

const LIMIT = { max: 3, seconds: 100 };

/** @returns true if a request passes, else the seconds of its Retry-After */
async function count(key: string): Promise<true | number | undefined> {
  try {
    await countRequest(database.db, key, LIMIT);
    return true;
  } catch (error) {
    assert.ok(error instanceof ApiError && error.code === 'rate_limited');
    return error.retryAfterSeconds;
  }
}

test('of many simultaneous requests, a window admits exactly its limit', async () => {
  const results = await Promise.all(Array.from({ length: 20 }, () => count('burst')));
  assert.equal(results.filter((result) => result === true).length, LIMIT.max);
});

test('a request passes after its Retry-After, and a refused one adds no hit', async () => {
  for (const seconds of [0, 40, 80]) {
    await database.setClock(seconds);
    assert.equal(await count('slides'), true);
  }
  for (let i = 0; i < 5; i += 1) assert.equal(await count('slides'), 20);
  await database.setClock(99);
  assert.notEqual(await count('slides'), true);
  await database.setClock(101);
  assert.equal(await count('slides'), true);
  assert.equal(await count('slides'), 39);
  await database.setClock(0);
});
