import assert from 'node:assert/strict';
import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { type TestContext, test } from 'node:test';
import { inspect } from 'node:util';
import { assertTidyObjects } from '../end-state.ts';
import { createRandom } from '../random.ts';
import { replayCommand } from '../replay.ts';
import { runOperatorCommand } from '../service-process.ts';
import { attackAll, planAttacks } from './attacks.ts';
import { type Load, prepareLoad, readAtRandom, sendAll } from './clients.ts';
import { type Customer, makeCustomer } from './customers.ts';
import { CREDITS, makeErrands } from './errands.ts';
import { describeFire, type Figures, figuresOf } from './figures.ts';
import {
  assertCredits,
  problemsOfAnswers,
  problemsOfJobs,
  problemsOfKeys,
  problemsOfPrompts,
} from './invariants.ts';
import { settle } from './settling.ts';
import { openSite, type Site } from './site.ts';

const TASKS = Number(process.env.FRAMEWRIGHT_FIRE_TASKS ?? 12);
const SEED = Number(process.env.FRAMEWRIGHT_SEED ?? Math.floor(Math.random() * 1e9));
/** The full size: every way out of a held task shows up then. */
const FULL_TASKS = 500;

async function openCustomers({ database }: Site): Promise<[Customer, Customer]> {
  const wishes = { paidCredits: 2 * TASKS * CREDITS, keys: 20 + Math.ceil(TASKS / 15) };
  return [await makeCustomer(database.db, wishes), await makeCustomer(database.db, wishes)];
}

/** Clients send and read while everything around them dies; returns when all are answered. */
async function burn(site: Site, load: Load): Promise<void> {
  const random = createRandom(SEED);
  const over = new AbortController();
  const reading = readAtRandom(load, site.url, { random: random.fork(), signal: over.signal });
  const attacks = planAttacks(TASKS, random);
  const answered = () => load.answered().length;
  try {
    await Promise.all([
      sendAll(load, site.url, over.signal),
      attackAll(site, attacks, { random: random.fork(), tasks: TASKS, answered }),
    ]);
  } finally {
    over.abort();
    await reading;
  }
  await site.provider.calm();
}

async function assertAllWell(site: Site, load: Load, customers: Customer[]): Promise<void> {
  const { database, disk, env, api, workers } = site;
  const problems = [
    ...[api, ...workers].flatMap((kept) => kept.ownEnds),
    ...(await problemsOfJobs(site)),
    ...(await problemsOfPrompts(site, [...load.hearings.keys()])),
    ...(await problemsOfKeys(site, load)),
    ...(await problemsOfAnswers(site, load)),
  ];
  assert.deepEqual(problems, []);
  for (const customer of customers) await assertCredits(database.db, customer);
  assert.deepEqual(await runOperatorCommand(env, 'audit'), { ok: true, problems: [] });
  await assertTidyObjects(database.db, disk.path);
}

function assertFullSize({ held_outcomes_by, orphans }: Figures): void {
  assert.equal(orphans.confirmed ?? 0, 0, 'no job ran that no task has');
  if (TASKS < FULL_TASKS) return;
  for (const by of ['callback', 'find', 'operator']) {
    assert.ok((held_outcomes_by[by] ?? 0) > 0, `some held task was resolved by ${by}`);
  }
}

/** What the services said goes to a folder that stays, for whoever looks for the cause. */
async function keepEvidence(t: TestContext, { api, workers }: Site, error: unknown): Promise<void> {
  const folder = await mkdtemp(path.join(tmpdir(), `framewright-fire-${SEED}-`));
  await writeFile(path.join(folder, 'failure.txt'), inspect(error, { depth: 9 }));
  for (const kept of [api, ...workers]) {
    const words = [...kept.failedStarts, ...kept.ownEnds, ...kept.outputs].join('\n');
    await writeFile(path.join(folder, `${kept.name}.log`), words);
  }
  const variables = { FRAMEWRIGHT_SEED: SEED, FRAMEWRIGHT_FIRE_TASKS: TASKS };
  const command = replayCommand(import.meta.filename, variables);
  t.diagnostic(`the services' logs are in ${folder}; to play it again: ${command}`);
}

/** Whole seconds by what they were spent on. */
function startLaps() {
  let startedAt = performance.now();
  const laps: string[] = [];
  return {
    end(name: string) {
      laps.push(`${Math.round((performance.now() - startedAt) / 1000)} ${name}`);
      startedAt = performance.now();
    },
    toString: () => laps.join(', '),
  };
}

async function surviveTheFire(t: TestContext): Promise<void> {
  const laps = startLaps();
  await using site = await openSite({ tasks: TASKS, seed: SEED });
  try {
    const customers = await openCustomers(site);
    const wishes = { random: createRandom(SEED), customers, imageUrl: site.imageUrl };
    const load = prepareLoad(makeErrands(TASKS, wishes));
    laps.end('starting');
    await burn(site, load);
    laps.end('burning');
    await settle(site);
    laps.end('settling');
    const figures = await figuresOf(site.database.db);
    t.diagnostic(`seed: ${SEED}, ${await describeFire(site, load, figures)}`);
    await assertAllWell(site, load, customers);
    assertFullSize(figures);
    laps.end('checking');
    t.diagnostic(`seconds: ${laps}`);
  } catch (error) {
    await keepEvidence(t, site, error);
    throw error;
  }
}

test('real processes under fire: no task is lost, none runs twice', surviveTheFire);
