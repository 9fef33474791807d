import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { type Database, openDatabase, statement } from '../../src/database/database.ts';
import { quiet } from '../database.ts';
import type { Random } from '../random.ts';
import {
  type Cut,
  type CutOutcome,
  type CuttingProxy,
  isPostgresDone,
  openCuttingProxy,
} from './cutting-proxy.ts';

/** A database with one connection, through a proxy that cuts it. */
export interface CutDatabase extends AsyncDisposable {
  db: Database;
  proxy: CuttingProxy;
}

export async function openCutDatabase(address: string): Promise<CutDatabase> {
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
export function cutsFor(strategy: number, random: Random, requests: number): Cut[] {
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
export async function retryUntilResponse<Value>(
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

const CONNECT = statement('', 'select 1');

/** Retries over a database connection that exists already: the cuts hit the call, not the handshake. */
export function retryOnDatabase<Value>(
  { db, proxy }: CutDatabase,
  cuts: Cut[],
  send: () => Promise<Value | 'lost'>,
) {
  return retryUntilResponse({ proxy, cuts, connect: () => db.query(CONNECT) }, send);
}

/** How many calls had taken effect, and had not, when their response was lost. */
interface Tally {
  done: number;
  undone: number;
}

export function newTally(): Tally {
  return { done: 0, undone: 0 };
}

/** Counts a call that lost responses. `isDone` must agree with what the proxy knows. */
export function countLost(
  tally: Tally,
  { lost, isDone }: { lost: CutOutcome[]; isDone: boolean },
): void {
  if (lost.includes('responded'))
    assert.ok(isDone, `it is reported as not done, but it was done: ${lost}`);
  if (lost.every((outcome) => outcome === 'unsent'))
    assert.ok(!isDone, `it is reported as done, but it was not sent: ${lost}`);
  if (lost.length === 0) return;
  if (isDone) tally.done += 1;
  else tally.undone += 1;
}

/** Asserts that both occurred: otherwise the test has proved nothing. */
export function assertBothOccurred(t: TestContext, what: string, { done, undone }: Tally): void {
  t.diagnostic(`${what}: of ${done + undone} lost responses ${done} had taken effect`);
  assert.ok(done > 0 && undone > 0);
}
