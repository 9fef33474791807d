import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { TestContext } from 'node:test';
import { createAccount } from '../../src/accounts/accounts.ts';
import { createKey } from '../../src/accounts/api-keys.ts';
import type { Database } from '../../src/database/database.ts';
import { imageBytes, type MediaFixture } from '../media/media-fixture.ts';
import { createRandom, type Random } from '../random.ts';
import { sql } from '../task-fixtures.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { openFaultProxy } from './fault-proxy.ts';

/** How many videos are made while the network fails and the clients are killed. */
const VIDEOS = 200;

/** The price of video-2.0-mini, 480p, 4 seconds. */
const PRICE = 60;

/** The share of the requests that get a fault. */
const FAULTS = 0.2;

/** What a client program makes: for each order N a video with the key `order-N`, as `N.mp4`. */
export interface Orders {
  folder: string;
  first: number;
  last: number;
}

/** A program that continues its work when it is started again. */
export interface Program {
  command: string;
  args: string[];
}

/** Many, because a key may send 30 requests a minute. */
export async function newTestKeys(
  db: Database,
  accountId: string,
  count: number,
): Promise<string[]> {
  const made = Array.from({ length: count }, () => createKey(db, { accountId, mode: 'test' }));
  return (await Promise.all(made)).map(({ secret }) => secret);
}

/**
 * Runs client programs through random faults, and kills them at random moments. Each order is one
 * task and one charge in the end, and its file is whole. A program makes videos of
 * `video-2.0-mini`, 480p, 4 seconds; it reads FRAMEWRIGHT_BASE_URL, FRAMEWRIGHT_TEST_KEYS (several)
 * and FRAMEWRIGHT_TEST_MEDIA (a folder with `picture.png`). Started again, it goes on.
 */
export async function proveOrders(
  fixture: MediaFixture,
  t: TestContext,
  programs: ((orders: Orders) => Program)[],
): Promise<void> {
  const seed = Number(process.env.FRAMEWRIGHT_SEED ?? Math.floor(Math.random() * 2 ** 31));
  t.diagnostic(`FRAMEWRIGHT_SEED=${seed}, ${VIDEOS} videos`);
  const random = createRandom(seed);
  await using media = await temporaryFolder();
  await writeFile(path.join(media.path, 'picture.png'), await imageBytes('png'));
  await using folder = await temporaryFolder();
  await using proxy = await openFaultProxy({ target: fixture.url, rate: FAULTS, seed });
  const accountId = await createAccount(fixture.db, `${crypto.randomUUID()}@example.com`);
  const keys = await newTestKeys(fixture.db, accountId, Math.ceil(VIDEOS / 2));
  const env = {
    ...process.env,
    FRAMEWRIGHT_BASE_URL: `${proxy.url}/api/v1`,
    FRAMEWRIGHT_TEST_KEYS: keys.join(),
    FRAMEWRIGHT_TEST_MEDIA: media.path,
  };
  const kills = Math.ceil(VIDEOS / 10 / programs.length);
  const share = (index: number) => Math.floor((VIDEOS * index) / programs.length);
  const running = programs.map((program, i) => {
    const orders = { folder: folder.path, first: share(i) + 1, last: share(i + 1) };
    return runKilled(program(orders), { env, kills, random: random.fork() });
  });
  const killed = await Promise.all(running);
  t.diagnostic(`${killed} kills, ${proxy.requests.length} requests`);
  await checkOrders(fixture, accountId, folder.path);
}

/**
 * Runs a program until it ends by itself, and kills it at random moments before.
 * @returns how often it was killed
 * @throws Error with what it printed, when it fails by itself
 */
async function runKilled(
  { command, args }: Program,
  { env, kills, random }: { env: NodeJS.ProcessEnv; kills: number; random: Random },
): Promise<number> {
  for (let done = 0; ; done++) {
    const child = spawn(command, args, { env, stdio: ['ignore', 'inherit', 'pipe'] });
    const seconds = random.between(1, 8);
    const timer =
      done < kills ? setTimeout(() => child.kill('SIGKILL'), 1000 * seconds) : undefined;
    const text = await errorsOf(child);
    clearTimeout(timer);
    if (child.signalCode === 'SIGKILL') continue;
    if (child.exitCode !== 0) throw new Error(`the client ended with ${child.exitCode}:\n${text}`);
    return done;
  }
}

async function errorsOf(child: ChildProcess): Promise<string> {
  let text = '';
  child.stderr?.setEncoding('utf8').on('data', (part) => {
    text += part;
  });
  await once(child, 'close');
  return text;
}

async function checkOrders({ db, dataDir }: MediaFixture, accountId: string, folder: string) {
  const tasks = await sql<{ phase: string; key: string; output: string | null }>(
    db,
    `select phase, key, o.id as output from tasks t
      left join idempotency_keys k on k.task_id = t.id
      left join stored_objects o on o.owner_id = t.id and o.role = 'output' and o.state = 'ready'
      where t.account_id = $1`,
    [accountId],
  );
  assert.equal(new Set(tasks.map(({ key }) => key)).size, VIDEOS);
  assert.deepEqual([tasks.length, await usedBy(db, accountId)], [VIDEOS, VIDEOS * PRICE]);
  for (const { phase, key, output } of tasks) {
    assert.equal(phase, 'completed');
    const file = await readFile(path.join(folder, `${key.replace('order-', '')}.mp4`));
    const id = output ?? '';
    const stored = await readFile(path.join(dataDir, 'objects', id.slice(-2), id));
    assert.ok(file.equals(stored), `the file of ${key} is whole`);
  }
}

/** The test credits of an account that tasks have used. */
async function usedBy(db: Database, accountId: string): Promise<number> {
  const text = `select spent + reserved as used from ledger_balances
    where account_id = $1 and kind = 'test'`;
  const [{ used } = { used: 0 }] = await sql<{ used: number }>(db, text, [accountId]);
  return used;
}
