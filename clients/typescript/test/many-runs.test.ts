import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { openClientCase } from '../../../server/test/clients/fault-cases.ts';
import { openMediaFixture } from '../../../server/test/media/media-fixture.ts';
import { temporaryFolder } from '../../../server/test/temporary-folder.ts';
import { Framewright } from '../src/index.ts';

const RUNS = Number(process.env.FRAMEWRIGHT_CLIENT_RUNS ?? 8);
const SEED = Number(process.env.FRAMEWRIGHT_SEED ?? Math.floor(Math.random() * 1e6));
/** Which share of the requests gets a fault, and which share of the processes is killed. */
const FAULT_RATE = 0.3;
const KILL_RATE = 0.5;
const ORDERS_OF_A_PROCESS = 8;
const PROCESSES_AT_ONCE = 3;
const PRICE = 60;
const PROGRAM = new URL('generate-many.ts', import.meta.url).pathname;

interface Counts {
  processes: number;
  kills: number;
}

/** Runs the program until it has made all of its orders, and kills it now and then. */
async function runToTheEnd(file: string, counts: Counts): Promise<void> {
  for (let starts = 1; starts <= 30; starts++) {
    const child = spawn(process.execPath, [PROGRAM, file], { stdio: 'inherit' });
    const ended = once(child, 'exit');
    counts.processes += 1;
    if (Math.random() < KILL_RATE) {
      await Promise.race([ended, delay(300 + 5000 * Math.random())]);
      if (child.kill('SIGKILL')) counts.kills += 1;
    }
    const [status] = await ended;
    if (status === 0) return;
  }
  assert.fail(`${file}: not all videos were made`);
}

/** Does the work on all items, some at once. */
async function forEach<T>(items: T[], atOnce: number, work: (item: T) => Promise<void>) {
  const left = [...items];
  const worker = async () => {
    for (let item = left.shift(); item !== undefined; item = left.shift()) await work(item);
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
}

test(`with faults and kills, ${RUNS} generations are as many tasks, charges and whole files`, async (t) => {
  t.diagnostic(`FRAMEWRIGHT_CLIENT_RUNS=${RUNS} FRAMEWRIGHT_SEED=${SEED}`);
  const fixture = await openMediaFixture();
  await using _ = { [Symbol.asyncDispose]: () => fixture.close() };
  await using folder = await temporaryFolder();
  await using opened = await openClientCase(fixture, { rate: FAULT_RATE, seed: SEED });
  const { baseUrl, directUrl } = opened;
  const batches = Array.from({ length: Math.ceil(RUNS / ORDERS_OF_A_PROCESS) }, (_, at) => at);
  const counts = { processes: 0, kills: 0 };
  await forEach(batches, PROCESSES_AT_ONCE, async (batch) => {
    const size = Math.min(ORDERS_OF_A_PROCESS, RUNS - batch * ORDERS_OF_A_PROCESS);
    const orders = await Promise.all(
      Array.from({ length: size }, async (_, at) => {
        const key = `order-${batch}-${at}`;
        return { apiKey: await opened.newKey(), key, file: path.join(folder.path, `${key}.mp4`) };
      }),
    );
    const file = path.join(folder.path, `batch-${batch}.json`);
    await writeFile(file, JSON.stringify({ baseUrl, orders }));
    await runToTheEnd(file, counts);
  });
  const { tries, keys } = await opened.report();
  t.diagnostic(JSON.stringify({ ...counts, tries }));

  const sizes = new Set<string>();
  let [tasks, charge] = [0, 0];
  const bytes = async (url: string) => Buffer.from(await (await fetch(url)).arrayBuffer());
  const files = (await readdir(folder.path)).filter((name) => name.endsWith('.mp4'));
  const contents = await Promise.all(files.map((name) => readFile(path.join(folder.path, name))));
  const whole = new Set(contents.map((content) => content.toString('base64')));
  const direct = new Framewright({ apiKey: await opened.newKey(), baseUrl: directUrl });
  for await (const task of direct.videos.list({ limit: 100 })) {
    tasks += 1;
    charge += task.credits_used - task.credits_refunded;
    const link = task.output?.video_url ?? '';
    if (link) sizes.add((await bytes(link)).toString('base64'));
  }
  assert.deepEqual(
    { tasks, keys: keys.length, files: files.length, charge },
    {
      tasks: RUNS,
      keys: RUNS,
      files: RUNS,
      charge: RUNS * PRICE,
    },
  );
  assert.equal((await opened.report()).charge, RUNS * PRICE);
  assert.deepEqual(whole.difference(sizes), new Set());
});
