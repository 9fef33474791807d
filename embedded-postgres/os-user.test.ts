import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { accessSync, constants } from 'node:fs';
import { chmod, chown, mkdir, readFile, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { openEmbeddedDatabase } from './embedded-postgres.ts';
import { lastErrorLines } from './os-user.ts';
import { openInOtherProcess, query } from './test/other-process.ts';
import { silentLog as log } from './test/silent-log.ts';
import { temporaryFolder } from './test/temporary-folder.ts';

const settings = { fsync: 'off' };
const isRoot = process.getuid?.() === 0;
const nobody = isRoot ? Number(execFileSync('id', ['-u', 'nobody'], { encoding: 'utf8' })) : 0;
const needsRoot = { skip: isRoot ? false : 'needs root' };
/** Other OS users can't load this code if the checkout is in a closed folder. */
const needsOtherUsers = { skip: canNobodyRead() ? false : 'needs root and a readable checkout' };

function canNobodyRead(): boolean {
  if (!isRoot) return false;
  try {
    execFileSync(process.execPath, ['--check', import.meta.filename], { uid: nobody, cwd: '/' });
    accessSync(tmpdir(), constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

async function closedFolder(t: TestContext, owner: number): Promise<string> {
  const folder = await temporaryFolder(t);
  await chown(folder, owner, owner);
  return folder;
}

/** The id of the OS user that runs the server. */
async function serverUid(dataDir: string): Promise<number> {
  const file = await readFile(join(dataDir, 'postgres/cluster/postmaster.pid'), 'utf8');
  return (await stat(`/proc/${parseInt(file, 10)}`)).uid;
}

test(
  'root runs Postgres as another OS user in a folder that only root can enter',
  needsRoot,
  async (t) => {
    const folder = await closedFolder(t, 0);
    await mkdir(join(folder, 'data'), { mode: 0o700 });
    const database = await openEmbeddedDatabase({ dataDir: join(folder, 'data'), log, settings });
    t.after(() => database.close());
    assert.notEqual(await serverUid(join(folder, 'data')), 0);
    // A checkpoint writes into the folder, which proves that the server can enter it.
    await query(database.url, 'create table written as select 1');
    await query(database.url, 'checkpoint');
  },
);

test(
  'root and another OS user can use that user’s data one after the other and together',
  needsOtherUsers,
  async (t) => {
    const folder = await closedFolder(t, nobody);
    const theirs = await openInOtherProcess(folder, nobody);
    const shared = await openEmbeddedDatabase({ dataDir: folder, log, settings });
    assert.equal(shared.startedHere, false);
    await theirs.close();
    await shared.close();

    const ours = await openEmbeddedDatabase({ dataDir: folder, log, settings });
    assert.deepEqual([ours.startedHere, await serverUid(folder)], [true, nobody]);
    const joined = await openInOtherProcess(folder, nobody);
    assert.equal(joined.startedHere, false);
    await ours.close();
    assert.equal((await query(joined.url, 'select 1')).length, 1);
    await joined.close();
    const again = await openInOtherProcess(folder, nobody);
    assert.deepEqual([again.startedHere, again.created], [true, false]);
    await again.close();
  },
);

test(
  'an OS user that opens the database of another gets an error with the owner',
  needsOtherUsers,
  async (t) => {
    const folder = await closedFolder(t, 0);
    await chmod(folder, 0o755);
    await (await openEmbeddedDatabase({ dataDir: folder, log, settings })).close();
    const { uid } = await stat(join(folder, 'postgres'));
    const stranger = uid === nobody ? nobody - 1 : nobody;
    await assert.rejects(openInOtherProcess(folder, stranger), {
      message:
        `EmbeddedPostgresError: ${folder}/postgres belongs to user ${uid}: ` +
        'run as that user or as root',
    });
  },
);

/** As initdb of Postgres 18 writes it where there is little shared memory. */
const INITDB = `2026-11-22 17:26:41 UTC [7] FATAL:  could not map anonymous shared memory: Cannot allocate memory
2026-11-22 17:26:41 UTC [7] HINT:  This error usually means that there is too little memory.
child process exited with exit code 1
initdb: removing data directory "/data/postgres/cluster.new-1"`;

test('of what a failed program says, the errors and hints of Postgres are shown', () => {
  const failed = (stderr: string) => lastErrorLines(Object.assign(new Error('failed'), { stderr }));
  assert.match(failed(INITDB), /^[^/]*FATAL: {2}could not map [^/]* \/ [^/]*HINT: [^/]*memory\.$/);
  assert.equal(failed('a\nb\nc\nd\n'), 'b / c / d');
});
