// Checks each thing between a fresh server and the first paid video, for the command `doctor` and
// the console's page Set-up.

import { setTimeout as delay } from 'node:timers/promises';
import { OUTSIDE_CHECKS } from './outside-checks.ts';
import { PUBLIC_URL_CHECKS } from './public-url.ts';
import { SERVER_CHECKS } from './server-checks.ts';
import type { Check, Line, SetUp } from './set-up.ts';
import { STRIPE_CHECKS } from './stripe-checks.ts';

const CHECKS = [...SERVER_CHECKS, ...PUBLIC_URL_CHECKS, ...OUTSIDE_CHECKS, ...STRIPE_CHECKS];

/** A check that takes longer counts as failed. */
const TIMEOUT_SECONDS = 30;

/** @param name of one check; without it, all are made */
export async function linesOf(setUp: SetUp, name?: string): Promise<Line[]> {
  const chosen = CHECKS.filter((check) => name === undefined || check.name === name);
  return Promise.all(chosen.map((check) => lineOf(check, setUp)));
}

export async function examine(setUp: SetUp) {
  const checks = await linesOf(setUp);
  return {
    ok: checks.every(({ state }) => state !== 'to do'),
    ready_to_sell: checks.every(({ state }) => state === 'ok'),
    checks,
  };
}

async function lineOf({ name: check, todo, run }: Check, setUp: SetUp): Promise<Line> {
  const ended = new AbortController();
  const late = delay(TIMEOUT_SECONDS * 1000, undefined, ended).then(() => {
    throw new Error(`no result within ${TIMEOUT_SECONDS} s`);
  });
  try {
    const finding = await Promise.race([run(setUp), late]);
    if (typeof finding !== 'string') return { check, todo, ...finding };
    return { check, state: 'ok', found: finding, todo: null };
  } catch (error) {
    const found = error instanceof Error ? error.message : String(error);
    return { check, state: 'to do', found: found || String(error), todo };
  } finally {
    ended.abort();
    late.catch(() => {}); // the abort rejects it
  }
}
