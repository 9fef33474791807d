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

/** A client's one connection to the database, through a proxy that cuts. */
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
    ...{ db, proxy },
    async [Symbol.asyncDispose]() {
      await db.close();
      await proxy[Symbol.asyncDispose]();
    },
  };
}

/** Before anything is sent, when the answer is there, or anywhere and then perhaps once more. */
export function cutsFor(strategy: number, random: Random, requests: number): Cut[] {
  const nth = random.whole(1, requests);
  const share = random.below(100) / 100;
  if (strategy === 0) return [{ at: 'request', nth, share: 0 }];
  if (strategy === 1 || random.chance(0.2)) return [{ at: 'response', share }];
  const anywhere: Cut = { at: 'request', nth, share: random.pick([0, share, 1]) };
  return random.chance(0.3) ? [anywhere, ...cutsFor(strategy, random, requests)] : [anywhere];
}

/**
 * Asks, with the connection cut as planned, until an answer comes.
 * @returns that answer, and what the proxies know of the tries whose answer was lost
 */
export async function retryUntilResponse<Value>(
  { proxy, cuts, connect }: { proxy: CuttingProxy; cuts: Cut[]; connect?: () => Promise<unknown> },
  ask: () => Promise<Value | 'lost'>,
): Promise<{ response: Value; lost: CutOutcome[] }> {
  const lost: CutOutcome[] = [];
  for (const cut of [...cuts, undefined]) {
    await connect?.();
    if (cut) proxy.cutNext(cut);
    const response = await ask();
    const outcome = proxy.endCut();
    if (response !== 'lost') return { response, lost };
    assert.ok(cut && outcome !== 'uncut', 'an answer was lost without a cut');
    lost.push(outcome);
  }
  throw new Error('no answer came although nothing was cut');
}

const AWAKE = statement('', 'select 1');

/** Insists over the database: what is cut belongs to the call, not to the greeting before it. */
export function retryOnDatabase<Value>(
  { db, proxy }: CutDatabase,
  cuts: Cut[],
  ask: () => Promise<Value | 'lost'>,
) {
  return retryUntilResponse({ proxy, cuts, connect: () => db.query(AWAKE) }, ask);
}

/** How often calls had taken effect, and had not, when their answer was lost. */
export interface Tally {
  done: number;
  undone: number;
}

export function newTally(): Tally {
  return { done: 0, undone: 0 };
}

/** Counts a call that lost answers. Where the proxy knows better, what was told must agree. */
export function countLost(
  tally: Tally,
  { lost, isDone }: { lost: CutOutcome[]; isDone: boolean },
): void {
  if (lost.includes('responded')) assert.ok(isDone, `told it was not done, and it was: ${lost}`);
  if (lost.every((outcome) => outcome === 'unsent'))
    assert.ok(!isDone, `done, and not sent: ${lost}`);
  if (lost.length === 0) return;
  if (isDone) tally.done += 1;
  else tally.undone += 1;
}

/** Both must have occurred, or the test has proved nothing. */
export function assertBothOccurred(t: TestContext, what: string, { done, undone }: Tally): void {
  t.diagnostic(`${what}: of ${done + undone} lost answers ${done} had taken effect`);
  assert.ok(done > 0 && undone > 0);
}
