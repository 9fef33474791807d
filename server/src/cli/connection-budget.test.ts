import assert from 'node:assert/strict';
import { readdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { openTestDatabase, quiet } from '../../test/database.ts';
import { isOneLineAbout } from '../../test/providers/settings.ts';
import { recordingLog } from '../../test/recording-log.ts';
import { temporaryFolder } from '../../test/temporary-folder.ts';
import { openDatabase } from '../database/database.ts';
import { warnOfConnections } from './connection-budget.ts';
import { requireDataFolder } from './serve.ts';

type Settings = Parameters<typeof warnOfConnections>[0];

const ONE: Settings = {
  processes: 1,
  databaseConnections: 1000, // more than the tests' Postgres allows
  databaseDirectUrl: undefined,
  roles: new Set(['api', 'worker']),
};

const database = await openTestDatabase();

/** The number of connections that a start with these settings warns of; undefined: no warning. */
async function warnedOf(changes: Partial<Settings>): Promise<number | undefined> {
  const { log, lines } = recordingLog();
  await warnOfConnections({ ...ONE, ...changes }, { db: database.db, log });
  return lines[0] === undefined ? undefined : JSON.parse(lines[0]).needed;
}

const NEEDS: [of: string, settings: Partial<Settings>, needed: number | undefined][] = [
  ['an API: its pool, and one that probes', { roles: new Set(['api']) }, 1001],
  ['a worker: one more, which listens', { roles: new Set(['worker']) }, 1002],
  ['an API and a worker in one process', {}, 1002],
  ['two APIs and a worker: three for the supervisor', { processes: 2 }, 3 * 1001 + 1 + 3],
  ['two APIs: three for the supervisor', { processes: 2, roles: new Set(['api']) }, 2 * 1001 + 3],
  ['PROCESSES does not multiply workers', { processes: 2, roles: new Set(['worker']) }, 1002],
  ['the server allows all: no warning', { databaseConnections: 4 }, undefined],
  ['a pooler: its own do not count', { databaseDirectUrl: 'postgres://db/framewright' }, undefined],
];

test('a start warns of more connections than the server allows', async () => {
  for (const [of, settings, needed] of NEEDS) assert.equal(await warnedOf(settings), needed, of);
});

test('a start whose database does not respond at this moment continues without the warning', async () => {
  const url = 'postgres://127.0.0.1:1/none';
  const db = openDatabase({ url, connections: 1, log: quiet });
  await warnOfConnections(ONE, { db, log: quiet });
  await db.close();
});

test('the data folder is made, and stays empty', async () => {
  await using folder = await temporaryFolder();
  const dataDir = path.join(folder.path, 'of/data');
  await requireDataFolder(dataDir);
  await requireDataFolder(dataDir);
  assert.deepEqual(await readdir(dataDir), []);
});

const ANYWHERE = process.platform === 'linux' ? ['/proc/x', '/proc/x/y', '/sys/x'] : [];

test('a data folder that can not be made is refused in one line', async () => {
  await using folder = await temporaryFolder();
  const file = path.join(folder.path, 'file');
  await writeFile(file, '');
  for (const dataDir of [file, path.join(file, 'data'), ...ANYWHERE]) {
    const refusal = isOneLineAbout(/^the data folder can't be used: E.* Set DATA_DIR to /);
    await assert.rejects(requireDataFolder(dataDir), refusal, dataDir);
  }
});
