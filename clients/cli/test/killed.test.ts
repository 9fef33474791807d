import assert from 'node:assert/strict';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { after, test } from 'node:test';
import { createAccount } from '../../../server/src/accounts/accounts.ts';
import { createKey } from '../../../server/src/accounts/api-keys.ts';
import { openFaultProxy } from '../../../server/test/clients/fault-proxy.ts';
import { LONG } from '../../../server/test/long.ts';
import { imageBytes, openMediaFixture } from '../../../server/test/media/media-fixture.ts';
import { until } from '../../../server/test/until.ts';
import { endOf, type Machine, openMachine } from './fw-process.ts';
import { type Moment, openWatchedProxy } from './watched-proxy.ts';

/** How many generations are killed, and how many of them at a time. */
const RUNS = LONG ? 200 : 1;
const AT_ONCE = 6;
const KILLS = 3;
const PRICE = 250;
/** The share of the requests that are lost, cut, delayed, doubled or get a 503, besides. */
const FAULTS = 0.05;

const fixture = await openMediaFixture({ environment: { RECONCILE_SECONDS: '3600' } });
after(() => fixture.close());

/** At which request, counted from the last kill; or after which time. */
type Death = { request: number; stage: Moment['stage'] } | { ms: number };

const below = (end: number) => Math.floor(Math.random() * end);

function drawDeath(): Death {
  if (below(4) === 0) return { ms: below(4000) };
  const stage = (['received', 'answered', 'half'] as const)[below(3)] ?? 'half';
  return { request: below(6), stage };
}

/** Runs a command until this moment, at which it is killed; it may end before. */
async function runUntil(at: Death, machine: Machine, args: string[], watched: Watched) {
  const child = machine.start(...args);
  child.stdin.end();
  let requests = -1;
  const timer = 'ms' in at ? setTimeout(() => child.kill('SIGKILL'), at.ms) : undefined;
  watched.watch = ({ stage }) => {
    if (stage === 'received') requests += 1;
    const isDue = 'stage' in at && requests === at.request && stage === at.stage;
    return isDue && child.kill('SIGKILL') ? 'cut' : undefined;
  };
  const run = await endOf(child);
  clearTimeout(timer);
  watched.watch = () => undefined;
  return run;
}

interface Watched {
  watch(moment: Moment): 'cut' | undefined;
}

/** The test key of a new account. A busy machine may need several tries to connect. */
function newTester(email: string): Promise<string> {
  const { db } = fixture;
  let accountId: string | undefined;
  const make = async () => {
    accountId ??= await createAccount(db, email);
    return (await createKey(db, { accountId, mode: 'test' })).secret;
  };
  return until(() => make().catch(() => ''), Boolean);
}

/** What was left: a whole video that was paid once, or nothing at all. */
async function killGeneration(index: number): Promise<'made' | 'nothing'> {
  const secret = await newTester(`ada${index}@example.com`);
  const watched: Watched = { watch: () => undefined };
  const faulty = { target: fixture.url, rate: FAULTS, seed: below(2 ** 31) };
  await using faults = await openFaultProxy(faulty);
  await using proxy = await openWatchedProxy(faults.url, (moment) => watched.watch(moment));
  await using machine = await openMachine({
    FRAMEWRIGHT_BASE_URL: `${proxy.url}/api/v1`,
    FRAMEWRIGHT_API_KEY: secret,
  });
  await writeFile(path.join(machine.folder, '.a.png'), await imageBytes('png'));
  const deaths = Array.from({ length: 1 + below(KILLS) }, drawDeath);
  const story = JSON.stringify([faulty.seed, ...deaths]);
  const frame = below(3) === 0 ? ['--image', '.a.png'] : [];
  for (const [number, death] of deaths.entries()) {
    const generate = ['generate', 'A paper boat', '--yes', '-o', 'boat.mp4', ...frame];
    await runUntil(death, machine, number === 0 ? generate : ['resume'], watched);
  }
  // On a busy machine the service may refuse one for a while.
  const runs = await until(
    () => Promise.all([machine.fw('resume'), machine.fw('resume')]),
    (pair) =>
      pair.every(({ code }) => code !== 7 && code !== 8) || pair.some((one) => one.code === 1),
    180,
  );
  const { out } = await machine.fw('tasks', '--json');
  const tasks = JSON.parse(out);
  const { available_credits: rest } = JSON.parse((await machine.fw('credits', '--json')).out);
  const files = (await readdir(machine.folder)).filter((name) => !name.startsWith('.'));
  assert.deepEqual(await machine.unfinished(), [], `${story} ${JSON.stringify(runs)}`);
  if (tasks.length === 0) {
    assert.deepEqual([rest, files], [100_000, []], story);
    return 'nothing';
  }
  assert.deepEqual([tasks.length, rest, files], [1, 100_000 - PRICE, ['boat.mp4']], story);
  // Past the proxies, which would break it.
  const { pathname, search } = new URL(tasks[0].output.video_url);
  const video = await fetch(fixture.url + pathname + search);
  assert.equal(video.status, 200);
  const whole = Buffer.from(await video.arrayBuffer());
  assert.ok(whole.equals(await readFile(path.join(machine.folder, 'boat.mp4'))), story);
  return 'made';
}

test(`${RUNS} generations, killed at any moment and resumed: one task, one charge, a whole file`, async () => {
  const ends: string[] = [];
  const failures: unknown[] = [];
  let next = 0;
  const work = async () => {
    while (next < RUNS) {
      const end = killGeneration(next++);
      await end.then(
        (one) => ends.push(one),
        (error) => failures.push(error),
      );
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  const made = ends.filter((end) => end === 'made').length;
  console.log(`${made} videos; ${ends.length - made} died before anything was created`);
  assert.deepEqual(failures, []);
});
