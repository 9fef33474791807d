import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync } from 'node:fs';
import { cp, mkdir, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, type TestContext, test } from 'node:test';
import { findBinaries } from './binaries.ts';
import { ensureCluster } from './cluster.ts';
import { openEmbeddedDatabase } from './embedded-postgres.ts';
import { EmbeddedPostgresError } from './error.ts';
import { makeFolder } from './folder.ts';
import { chooseOsUser } from './os-user.ts';
import { openInOtherProcess, query, spawnOpener, until } from './test/other-process.ts';
import { silentLog as log } from './test/silent-log.ts';
import { temporaryFolder } from './test/temporary-folder.ts';

const settings = { fsync: 'off' };

const template = await mkdtemp(join(tmpdir(), 'embedded template '));
await (await openEmbeddedDatabase({ dataDir: template, log, settings })).close();

after(() => rm(template, { recursive: true, force: true }));

/** A copy of a template. If root runs the tests, root owns it, like data restored from a backup. */
async function dataFolder(t: TestContext): Promise<string> {
  const folder = await temporaryFolder(t);
  await cp(template, folder, { recursive: true });
  return folder;
}

async function open(t: TestContext, dataDir: string) {
  const database = await openEmbeddedDatabase({ dataDir, log, settings });
  t.after(() => database.close());
  return database;
}

const pidFile = (dataDir: string) => join(dataDir, 'postgres', 'cluster', 'postmaster.pid');

async function postmasterPid(dataDir: string): Promise<number> {
  return Number((await readFile(pidFile(dataDir), 'utf8')).split('\n')[0]);
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

test('data written before the close is there after the next start', async (t) => {
  const dataDir = await temporaryFolder(t);
  const first = await open(t, dataDir);
  assert.deepEqual([first.startedHere, first.created], [true, true]);
  await query(first.url, 'create table kept as select 42 as answer');
  const pid = await postmasterPid(dataDir);
  await Promise.all([first.close(), first.close()]);
  assert.equal(isAlive(pid), false);

  const second = await open(t, dataDir);
  assert.deepEqual([second.startedHere, second.created], [true, false]);
  assert.deepEqual(await query(second.url, 'select answer from kept'), [{ answer: 42 }]);
});

test('the cluster has UTF-8 and locale C, and listens only on loopback with a password', async (t) => {
  const dataDir = await dataFolder(t);
  const { url } = await open(t, dataDir);
  const [facts] = await query(
    url,
    `select pg_encoding_to_char(encoding) as encoding, datcollate as collate,
       current_setting('listen_addresses') as listen,
       current_setting('unix_socket_directories') as sockets,
       (select rolpassword like 'SCRAM-SHA-256$%' from pg_authid
         where rolname = current_user) as scram
     from pg_database where datname = current_database()`,
  );
  const expected = { encoding: 'UTF8', collate: 'C', listen: '127.0.0.1', sockets: '' };
  assert.deepEqual(facts, { ...expected, scram: true });
  const wrong = new URL(url);
  wrong.password = 'wrong';
  await assert.rejects(query(wrong.href, 'select 1'), { code: '28P01' });
  assert.equal((await stat(join(dataDir, 'postgres', 'password'))).mode & 0o777, 0o600);
});

for (const [end, how] of [
  ['leave', 'close'],
  ['be killed', 'kill'],
] as const) {
  test(`a second process joins, the first may ${end}, the last one stops the server`, async (t) => {
    const dataDir = await dataFolder(t);
    const first = await openInOtherProcess(dataDir);
    assert.equal(first.startedHere, true);
    const joiner = await open(t, dataDir);
    assert.deepEqual([joiner.startedHere, joiner.url], [false, first.url]);
    const pid = await postmasterPid(dataDir);
    await first[how]();
    const third = await openInOtherProcess(dataDir);
    assert.equal(third.startedHere, false);
    await third[how]();
    assert.deepEqual(await query(joiner.url, 'select 1 as one'), [{ one: 1 }]);
    await joiner.close();
    assert.equal(isAlive(pid), false);
  });
}

test('when processes open an empty folder together, exactly one starts a server', async (t) => {
  const dataDir = await temporaryFolder(t);
  const all = await Promise.all([1, 2, 3, 4].map(() => openInOtherProcess(dataDir)));
  assert.equal(all.filter((each) => each.startedHere).length, 1);
  assert.equal(all.filter((each) => each.created).length, 1);
  assert.equal(new Set(all.map((each) => each.url)).size, 1);
  const pid = await postmasterPid(dataDir);
  await Promise.all(all.map((each) => each.close()));
  assert.equal(isAlive(pid), false);
});

test('processes that open and close at the same time never lose the database', async (t) => {
  const dataDir = await dataFolder(t);
  const closer = async () => {
    for (let round = 0; round < 6; round += 1) {
      const database = await openEmbeddedDatabase({ dataDir, log, settings });
      assert.equal((await query(database.url, 'select 1')).length, 1);
      await database.close();
    }
  };
  const killed = async () => {
    for (let round = 0; round < 4; round += 1) {
      const other = await openInOtherProcess(dataDir);
      assert.equal((await query(other.url, 'select 1')).length, 1);
      await other.kill();
    }
  };
  await Promise.all([closer(), closer(), killed()]);
});

test('the server stops and keeps the data when its only member is killed', async (t) => {
  const dataDir = await dataFolder(t);
  const first = await openInOtherProcess(dataDir);
  await query(first.url, 'create table kept as select 7 as answer');
  const pid = await postmasterPid(dataDir);
  await first.kill();
  await until(() => !isAlive(pid));
  const next = await open(t, dataDir);
  assert.equal(next.startedHere, true);
  assert.deepEqual(await query(next.url, 'select answer from kept'), [{ answer: 7 }]);
});

test('a server whose guard was killed is not shared, and the next open stops it', {
  skip: process.platform !== 'linux',
}, async (t) => {
  const dataDir = await dataFolder(t);
  const first = await openInOtherProcess(dataDir);
  const pid = await postmasterPid(dataDir);
  const status = await readFile(`/proc/${pid}/status`, 'utf8');
  const guard = /^PPid:\s+(\d+)/m.exec(status)?.[1] ?? '';
  const children = await readFile(`/proc/${guard}/task/${guard}/children`, 'utf8');
  // Its other child is the subshell that reads the pipe.
  for (const each of [guard, ...children.trim().split(' ')].map(Number)) {
    if (each !== pid) process.kill(each, 'SIGKILL');
  }
  await assert.rejects(openEmbeddedDatabase({ dataDir, log, settings }), /guard .* was killed/);
  assert.equal((await query(first.url, 'select 1')).length, 1);
  await first.kill();
  const next = await open(t, dataDir);
  assert.equal(next.startedHere, true);
  await until(() => !isAlive(pid)); // init, not the guard, reaps it
});

test('a start that is killed at any moment does not prevent the next start', async (t) => {
  const dataDir = await temporaryFolder(t);
  const moments = [
    () => seen(dataDir, /^cluster\.new-/),
    () => seen(dataDir, /^cluster$/),
    () => seen(dataDir, /^users$/),
    () => stat(pidFile(dataDir)).then(Boolean, () => false),
  ];
  for (const moment of moments) {
    const opener = spawnOpener(dataDir);
    const ended = once(opener, 'exit');
    await until(moment);
    opener.kill('SIGKILL');
    await ended;
  }
  const next = await open(t, dataDir);
  assert.equal((await query(next.url, 'select 1')).length, 1);
  assert.equal(seen(dataDir, /\.new-/), false);
});

function seen(dataDir: string, name: RegExp): boolean {
  try {
    return readdirSync(join(dataDir, 'postgres')).some((each) => name.test(each));
  } catch {
    return false;
  }
}

test('a stale postmaster.pid prevents no start, even with the pid of another program', async (t) => {
  const dataDir = await dataFolder(t);
  await (await open(t, dataDir)).close();
  const { uid } = await stat(join(dataDir, 'postgres', 'cluster'));
  const asOwner = process.getuid?.() === 0 ? { uid, gid: uid } : {};
  const otherProgram = spawn('/bin/sleep', ['600'], { ...asOwner, cwd: '/', stdio: 'ignore' });
  t.after(() => otherProgram.kill('SIGKILL'));
  await once(otherProgram, 'spawn');
  const cluster = join(dataDir, 'postgres', 'cluster');
  const lines = [cluster, 1700000000, 5432, '', '127.0.0.1', '  1 2', 'ready   '].join('\n');
  for (const stale of [`${otherProgram.pid}\n${lines}\n`, `999999\n${lines}\n`, '']) {
    await writeFile(pidFile(dataDir), stale);
    const database = await openEmbeddedDatabase({ dataDir, log, settings });
    assert.equal(database.startedHere, true);
    assert.equal((await query(database.url, 'select 1')).length, 1);
    await database.close();
  }
  assert.equal(otherProgram.exitCode ?? otherProgram.signalCode, null);
});

test('a member is told that the server died, and the next open starts it again', async (t) => {
  const dataDir = await dataFolder(t);
  const database = await open(t, dataDir);
  process.kill(await postmasterPid(dataDir), 'SIGKILL');
  assert.match(await database.exited, /postgres\.log/);
  const again = await open(t, dataDir);
  assert.deepEqual([again.startedHere, again.url], [true, database.url]);
  await again.close();
  assert.equal((await query(database.url, 'select 1')).length, 1);
  await database.close();
});

test('a failed start is a one-line error with the cause, and does not block the next', async (t) => {
  const dataDir = await dataFolder(t);
  const failed = openEmbeddedDatabase({ dataDir, log, settings: { ...settings, bogus: '1' } });
  await assert.rejects(failed, (error: unknown) => {
    assert.ok(error instanceof EmbeddedPostgresError);
    assert.match(error.message, /^[^\n]*unrecognized configuration parameter "bogus"[^\n]*$/);
    return true;
  });
  assert.equal((await open(t, dataDir)).startedHere, true);
});

test('an initdb that ends early leaves no cluster, and the next start makes one', async (t) => {
  const dataDir = await temporaryFolder(t);
  const folder = await makeFolder(dataDir);
  const initdb = join(dataDir, 'initdb');
  const ending = '#!/bin/sh\nmkdir "$2" && echo 18 >"$2/PG_VERSION"; exit 1\n';
  await writeFile(initdb, ending, { mode: 0o755 });
  const binaries = { ...(await findBinaries()), initdb };
  const osUser = await chooseOsUser(folder, binaries);
  await assert.rejects(ensureCluster(folder, osUser, binaries, false), /can't be created/);
  assert.equal(existsSync(folder.cluster), false);
  assert.equal((await open(t, dataDir)).created, true);
});

test('a folder that can not be used is a one-line error', async (t) => {
  const dataDir = await dataFolder(t);
  await rm(join(dataDir, 'postgres', 'lock'), { force: true });
  await mkdir(join(dataDir, 'postgres', 'lock'));
  const impossible = process.platform === 'linux' ? ['/proc/x'] : [];
  for (const unusable of [dataDir, ...impossible]) {
    await assert.rejects(openEmbeddedDatabase({ dataDir: unusable, log, settings }), {
      name: 'EmbeddedPostgresError',
      message: /^[^\n]*can't be used[^\n]*$/,
    });
  }
});

test('close succeeds when the server and its folder are gone', async (t) => {
  const dataDir = await dataFolder(t);
  const database = await open(t, dataDir);
  const pid = await postmasterPid(dataDir);
  process.kill(pid, 'SIGKILL');
  await until(() => !isAlive(pid));
  await rm(dataDir, { recursive: true, force: true, maxRetries: 10 });
  await database.close();
});
