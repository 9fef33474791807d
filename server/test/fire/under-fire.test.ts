import assert from 'node:assert/strict';
import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { type TestContext, test } from 'node:test';
import { inspect } from 'node:util';
import { createRandom } from '../random.ts';
import { replayCommand } from '../replay.ts';
import { assertTidyObjects } from '../service/end-state.ts';
import { runOperatorCommand } from '../service/service-process.ts';
import { attackAll, planAttacks } from './attacks.ts';
import { type Load, prepareLoad, readAtRandom, sendAll } from './clients.ts';
import { type Deployment, startDeployment } from './deployment.ts';
import {
  assertCredits,
  problemsOfJobs,
  problemsOfKeys,
  problemsOfPrompts,
  problemsOfResponses,
} from './invariants.ts';
import { type MultiKeyCustomer, makeMultiKeyCustomer } from './multi-key-customer.ts';
import { finishAllTasks } from './operator.ts';
import { makeRequests, REQUEST_CREDITS } from './requests.ts';
import { describeRun, type FireStatistics, readStatistics } from './statistics.ts';

const TASKS = Number(process.env.FRAMEWRIGHT_FIRE_TASKS ?? 12);
const SEED = Number(process.env.FRAMEWRIGHT_SEED ?? Math.floor(Math.random() * 1e9));
/** With this many tasks, every way out of a held task occurs. */
const FULL_TASKS = 500;

async function openCustomers({
  database,
}: Deployment): Promise<[MultiKeyCustomer, MultiKeyCustomer]> {
  const options = { paidCredits: 2 * TASKS * REQUEST_CREDITS, keys: 20 + Math.ceil(TASKS / 15) };
  return [
    await makeMultiKeyCustomer(database.db, options),
    await makeMultiKeyCustomer(database.db, options),
  ];
}

/** Clients send and read while processes are killed; returns when all requests are confirmed. */
async function runUnderAttack(deployment: Deployment, load: Load): Promise<void> {
  const random = createRandom(SEED);
  const over = new AbortController();
  const reading = readAtRandom(load, deployment.url, {
    random: random.fork(),
    signal: over.signal,
  });
  const attacks = planAttacks(TASKS, random);
  const confirmed = () => load.confirmed().length;
  try {
    await Promise.all([
      sendAll(load, deployment.url, over.signal),
      attackAll(deployment, attacks, { random: random.fork(), tasks: TASKS, confirmed }),
    ]);
  } finally {
    over.abort();
    await reading;
  }
  await deployment.provider.stopFaults();
}

async function assertInvariants(
  deployment: Deployment,
  load: Load,
  customers: MultiKeyCustomer[],
): Promise<void> {
  const { database, disk, env, api, workers } = deployment;
  const problems = [
    ...[api, ...workers].flatMap((service) => service.unexpectedExits),
    ...(await problemsOfJobs(deployment)),
    ...(await problemsOfPrompts(deployment, [...load.observations.keys()])),
    ...(await problemsOfKeys(deployment, load)),
    ...(await problemsOfResponses(deployment, load)),
  ];
  assert.deepEqual(problems, []);
  for (const customer of customers) await assertCredits(database.db, customer);
  assert.deepEqual(await runOperatorCommand(env, 'audit'), { ok: true, problems: [] });
  await assertTidyObjects(database.db, disk.path);
}

function assertFullSize({ held_outcomes_by, orphans }: FireStatistics): void {
  assert.equal(orphans.confirmed ?? 0, 0, 'no job ran that no task uses');
  if (TASKS < FULL_TASKS) return;
  for (const by of ['callback', 'find', 'operator']) {
    assert.ok((held_outcomes_by[by] ?? 0) > 0, `some held task got its outcome by ${by}`);
  }
}

/** Writes the services' logs to a folder that is not removed, to find the cause of a failure. */
async function keepLogs(
  t: TestContext,
  { api, workers }: Deployment,
  error: unknown,
): Promise<void> {
  const folder = await mkdtemp(path.join(tmpdir(), `framewright-fire-${SEED}-`));
  await writeFile(path.join(folder, 'failure.txt'), inspect(error, { depth: 9 }));
  for (const service of [api, ...workers]) {
    const text = [...service.failedStarts, ...service.unexpectedExits, ...service.outputs].join(
      '\n',
    );
    await writeFile(path.join(folder, `${service.name}.log`), text);
  }
  const variables = { FRAMEWRIGHT_SEED: SEED, FRAMEWRIGHT_FIRE_TASKS: TASKS };
  const command = replayCommand(import.meta.filename, variables);
  t.diagnostic(`the services' logs are in ${folder}; to run it again: ${command}`);
}

/** Measures the parts of a run in whole seconds. */
function startStopwatch() {
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

async function surviveAttacks(t: TestContext): Promise<void> {
  const laps = startStopwatch();
  await using deployment = await startDeployment({ tasks: TASKS, seed: SEED });
  try {
    const customers = await openCustomers(deployment);
    const options = { random: createRandom(SEED), customers, imageUrl: deployment.imageUrl };
    const load = prepareLoad(makeRequests(TASKS, options));
    laps.end('starting');
    await runUnderAttack(deployment, load);
    laps.end('attacking');
    await finishAllTasks(deployment);
    laps.end('finishing');
    const statistics = await readStatistics(deployment.database.db);
    t.diagnostic(`seed: ${SEED}, ${await describeRun(deployment, load, statistics)}`);
    await assertInvariants(deployment, load, customers);
    assertFullSize(statistics);
    laps.end('checking');
    t.diagnostic(`seconds: ${laps}`);
  } catch (error) {
    await keepLogs(t, deployment, error);
    throw error;
  }
}

test('real processes under attack: no task is lost, and no job runs twice', surviveAttacks);
