import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { createKey } from '../../src/accounts/api-keys.ts';
import { type Database, openDatabase } from '../../src/database/database.ts';
import { ApiError } from '../../src/kernel/errors.ts';
import { balances } from '../../src/ledger/ledger.ts';
import { audit } from '../../src/operator/audit.ts';
import type { Created } from '../../src/tasks/create/create.ts';
import type { Binding } from '../../src/tasks/create/new-task.ts';
import { openTestApp } from '../app.ts';
import { type ApiResponse, client } from '../client.ts';
import { makeCustomer } from '../customer.ts';
import { quiet } from '../database.ts';
import { assertError } from '../envelope.ts';
import { type Random, shuffled } from '../random.ts';
import { bindingFor, createTask, PRICE, requestFor, sql } from '../task-fixtures.ts';
import {
  type Cut,
  type CutOutcome,
  type CuttingProxy,
  isPostgresDone,
  openCuttingProxy,
} from './cutting-proxy.ts';
import { runRounds } from './rounds.ts';

const api = await openTestApp();
const { db } = api.database;
after(async () => {
  const audited = await audit(db);
  await api.close();
  assert.deepEqual(audited, { ok: true, problems: [] });
});

const BODY = { prompt: 'a lighthouse at dawn' };
/** Other bodies of the same price, and one that costs more. */
const OTHERS = [{ prompt: 'a lighthouse at dusk' }, { ...BODY, seed: 7 }, { ...BODY, seed: 8 }];
const EXPENSIVE = { ...BODY, duration: 10 };
/** How the connections of the clients of a round are cut, one each (see cutsFor). */
const CUT_STRATEGIES = [0, 1, 2, 3];

interface Sent {
  body: object;
  response: ApiResponse;
}

/** Exactly one request got 202; every other response must fit its own body. */
function assertOneWinner(sent: Sent[]): Sent {
  const winners = sent.filter(({ response }) => response.status === 202);
  assert.equal(winners.length, 1, `${winners.length} of them got 202`);
  const [winner] = winners;
  assert.ok(winner);
  for (const one of sent) if (one !== winner) assertLost(one, winner);
  return winner;
}

/** The same body gets the winner's task, another body a conflict; neither gets 402. */
function assertLost({ body, response }: Sent, winner: Sent): void {
  const headers = Object.fromEntries(response.headers);
  if (body !== winner.body) {
    assertError({ ...response, headers }, 'idempotency_conflict');
    return;
  }
  assert.equal(response.status, 200);
  assert.equal(headers['idempotent-replayed'], 'true');
  assert.deepEqual(response.body, winner.response.body);
}

test('one key in flight with equal and other bodies: one task, never 402', async (t) => {
  await runRounds(t, async (random) => {
    const { accountId, secret } = await makeCustomer(db, PRICE.credits);
    const second = await createKey(db, { accountId });
    const clients = [client(api.url, secret), client(api.url, second.secret)] as const;
    const key = crypto.randomUUID();
    const send = async (body: object) => {
      return { body, response: await random.pick(clients).create(body, key) };
    };
    const bodies = shuffled([BODY, BODY, BODY, BODY, BODY, ...OTHERS, ...OTHERS], random);
    const winner = assertOneWinner(await Promise.all(bodies.map(send)));
    for (const body of shuffled([BODY, ...OTHERS, EXPENSIVE], random))
      assertLost(await send(body), winner);
    await assertOneTask(accountId, winner.response.body.id, 0);
  });
});

test('a 402 binds no key: another body that can be paid gets it', async (t) => {
  await runRounds(t, async (random) => {
    const { accountId, secret } = await makeCustomer(db, PRICE.credits);
    const key = crypto.randomUUID();
    const send = async (body: object) => {
      return { body, response: await client(api.url, secret).create(body, key) };
    };
    const sent = await Promise.all(
      shuffled([EXPENSIVE, EXPENSIVE, EXPENSIVE, BODY, BODY], random).map(send),
    );
    const affordable = sent.filter(({ response }) => response.status !== 402);
    for (const { body, response } of sent) assert.ok(response.status !== 402 || body === EXPENSIVE);
    const winner = assertOneWinner(affordable);
    assertLost(await send(EXPENSIVE), winner);
    await assertOneTask(accountId, winner.response.body.id, 0);
  });
});

/** Asserts that the account has one task and one reservation. */
async function assertOneTask(accountId: string, taskId: string, available = PRICE.credits) {
  const rows = await sql(db, 'select id from tasks where account_id = $1', [accountId]);
  assert.deepEqual(rows, [{ id: taskId }]);
  const { paid } = await balances(db, accountId);
  assert.deepEqual(paid, { available, reserved: PRICE.credits });
}

/** A database with one connection, through a proxy that cuts it. */
async function openCutDatabase(address: string) {
  const url = new URL(address);
  const proxy = await openCuttingProxy(new URL(address), isPostgresDone);
  url.host = `127.0.0.1:${proxy.port}`;
  const db = openDatabase({ url: url.href, connections: 1, log: quiet });
  return {
    db,
    proxy,
    async [Symbol.asyncDispose]() {
      await db.close();
      await proxy[Symbol.asyncDispose]();
    },
  };
}

/**
 * The cuts of one request by strategy: 0 before it is sent, 1 at the response, others at a random
 * place, followed by further cuts in 30 % of the cases.
 * @param requests how many pieces the client sends
 */
function cutsFor(strategy: number, random: Random, requests: number): Cut[] {
  const nth = random.whole(1, requests);
  const share = random.below(100) / 100;
  if (strategy === 0) return [{ at: 'request', nth, share: 0 }];
  if (strategy === 1 || random.chance(0.2)) return [{ at: 'response', share }];
  const anywhere: Cut = { at: 'request', nth, share: random.pick([0, share, 1]) };
  return random.chance(0.3) ? [anywhere, ...cutsFor(strategy, random, requests)] : [anywhere];
}

/**
 * Sends a request, with the connection cut as planned, until a response arrives.
 * @returns the response, and what the proxy knows of the tries whose response was lost
 */
async function retryUntilResponse<Value>(
  { proxy, cuts, connect }: { proxy: CuttingProxy; cuts: Cut[]; connect?: () => Promise<unknown> },
  send: () => Promise<Value | 'lost'>,
): Promise<{ response: Value; lost: CutOutcome[] }> {
  const lost: CutOutcome[] = [];
  for (const cut of [...cuts, undefined]) {
    await connect?.();
    if (cut) proxy.cutNext(cut);
    const response = await send();
    const outcome = proxy.endCut();
    if (response !== 'lost') return { response, lost };
    assert.ok(cut && outcome !== 'uncut', 'a response was lost without a cut');
    lost.push(outcome);
  }
  throw new Error('no response came although nothing was cut');
}

/** How many calls had taken effect, and had not, when their response was lost. */
interface Tally {
  done: number;
  undone: number;
}

/** Counts a call that lost responses. `isDone` must agree with what the proxy knows. */
function countLost(tally: Tally, { lost, isDone }: { lost: CutOutcome[]; isDone: boolean }): void {
  if (lost.includes('responded'))
    assert.ok(isDone, `it is reported as not done, but it was done: ${lost}`);
  if (lost.every((outcome) => outcome === 'unsent'))
    assert.ok(!isDone, `it is reported as done, but it was not sent: ${lost}`);
  if (lost.length === 0) return;
  if (isDone) tally.done += 1;
  else tally.undone += 1;
}

/** Creates through the client's own database connection; `lost` if the create is to be retried. */
async function createThrough(own: Database, binding: Binding): Promise<Created | 'lost'> {
  try {
    return await createTask({ ...api.deps, db: own }, requestFor(binding));
  } catch (error) {
    if (error instanceof ApiError && error.code === 'service_busy') return 'lost';
    throw error;
  }
}

/**
 * Tests retries with every strategy of cuts.
 * @param send what a client sends; whether it was done when its response was lost
 */
function testRetries(
  title: string,
  send: (strategy: number, random: Random) => Promise<{ lost: CutOutcome[]; isDone: boolean }>,
): void {
  test(title, async (t) => {
    const tally: Tally = { done: 0, undone: 0 };
    await runRounds(t, async (random) => {
      const sent = CUT_STRATEGIES.map((strategy) => send(strategy, random.fork()));
      for (const one of await Promise.all(sent)) countLost(tally, one);
    });
    const { done, undone } = tally;
    t.diagnostic(`of ${done + undone} lost responses ${done} had taken effect`);
    assert.ok(done > 0 && undone > 0, 'otherwise the test has proved nothing');
  });
}

testRetries(
  'a create that lost its database is done once when its retry returns',
  async (strategy, random) => {
    await using through = await openCutDatabase(api.database.url);
    const { accountId } = await makeCustomer(db, PRICE.credits * 2);
    const binding = bindingFor(accountId);
    // A connection that exists already: the cuts hit the create, not the handshake.
    const connect = () => sql(through.db, 'select 1');
    const { response, lost } = await retryUntilResponse(
      { proxy: through.proxy, cuts: cutsFor(strategy, random, 4), connect },
      () => createThrough(through.db, binding),
    );
    await assertOneTask(accountId, response.task.id);
    return { lost, isDone: response.kind === 'replayed' };
  },
);

testRetries(
  'a POST that lost its connection made one task when its retry returns',
  async (strategy, random) => {
    await using proxy = await openCuttingProxy(new URL(api.url), () => true);
    const { accountId, secret } = await makeCustomer(db, PRICE.credits * 2);
    const { create } = client(`http://127.0.0.1:${proxy.port}`, secret);
    const key = crypto.randomUUID();
    const { response, lost } = await retryUntilResponse(
      { proxy, cuts: cutsFor(strategy, random, 1) },
      () => create(BODY, key).catch(() => 'lost' as const),
    );
    assert.ok(response.status === 200 || response.status === 202, JSON.stringify(response.body));
    await assertOneTask(accountId, response.body.id);
    return { lost, isDone: response.status === 200 };
  },
);
