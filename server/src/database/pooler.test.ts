import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openTestDatabase, quiet } from '../../test/database.ts';
import { isOneLineAbout } from '../../test/providers/settings.ts';
import { type Database, openDatabase, statement } from './database.ts';
import { requireSessionSettings } from './server.ts';

const SESSION = statement(
  'test_session',
  `select pg_backend_pid() as pid,
     (select count(*)::int from pg_prepared_statements) as prepared,
     (select array_agg(name order by name) from pg_settings
       where source in ('client', 'session') and name in ('statement_timeout',
         'idle_in_transaction_session_timeout', 'synchronous_commit',
         'default_transaction_isolation', 'tcp_keepalives_idle')) as changed`,
);

interface SessionRow {
  pid: number;
  prepared: number;
  /** The settings of the service that this session got from its client. */
  changed: string[] | null;
}

const database = await openTestDatabase();
await database.db.query({ name: '', text: 'create table counted (n int check (n < 9))' });

/** One connection, so that its session shows what the service did to it. */
async function withOneConnection(
  pooler: 'named' | 'unnamed' | undefined,
  work: (db: Database, session: () => Promise<SessionRow>) => Promise<void>,
): Promise<void> {
  const db = openDatabase({ url: database.url, connections: 1, log: quiet, pooler });
  const session = async () => {
    const [row] = await db.query<SessionRow>(SESSION);
    return row ?? assert.fail();
  };
  try {
    await work(db, session);
  } finally {
    await db.close();
  }
}

/** A transaction with a failed statement, whose work throws an error of its own. */
async function refusedTransaction(db: Database): Promise<void> {
  const refused = db.transaction(async (tx) => {
    await tx.query({ name: '', text: 'insert into counted values (9)' }).catch(() => {});
    throw new Error('not enough credits');
  });
  await assert.rejects(refused, /not enough credits/);
}

test('through a pooler a connection is closed after a refused statement, since names clash', async () => {
  for (const [pooler, closes] of [
    ['named', true],
    ['unnamed', false],
    [undefined, false],
  ] as const) {
    await withOneConnection(pooler, async (db, session) => {
      const { pid } = await session();
      await db.transaction(async (tx) => tx.query({ name: '', text: 'select 1' }));
      assert.equal((await session()).pid, pid, 'after a transaction that succeeds');
      await refusedTransaction(db);
      assert.equal((await session()).pid !== pid, closes, `pooler: ${pooler}`);
    });
  }
});

test('statements have names through a pooler, unless it can not keep them', async () => {
  await withOneConnection('named', async (_db, session) => {
    await session();
    assert.equal((await session()).prepared, 1);
  });
  await withOneConnection('unnamed', async (_db, session) => {
    await session();
    assert.equal((await session()).prepared, 0);
  });
});

test('through a pooler no setting of a session is sent or changed', async () => {
  await withOneConnection(undefined, async (_db, session) => {
    assert.equal((await session()).changed?.length, 5);
  });
  await withOneConnection('named', async (_db, session) => {
    assert.equal((await session()).changed, null);
  });
});

/** A database whose sessions have these settings. */
function behindPooler(own: Record<string, string>): Database {
  const settings = {
    default_transaction_isolation: 'read committed',
    idle_in_transaction_session_timeout: '5000',
    statement_timeout: '3000',
    synchronous_commit: 'on',
    ...own,
  };
  const rows = Object.entries(settings).map(([name, setting]) => ({ name, setting }));
  return { query: async () => rows } as unknown as Database;
}

test('sessions behind a pooler that lack a setting of the service are refused', async () => {
  await requireSessionSettings(behindPooler({}), false);
  await requireSessionSettings(behindPooler({ synchronous_commit: 'remote_apply' }), false);
  await requireSessionSettings(behindPooler({ synchronous_commit: 'off' }), true);
  for (const [name, value] of [
    ['statement_timeout', '0'],
    ['statement_timeout', '30000'],
    ['idle_in_transaction_session_timeout', '0'],
    ['default_transaction_isolation', 'serializable'],
    ['synchronous_commit', 'off'],
    ['synchronous_commit', 'local'],
  ] as const) {
    const required = requireSessionSettings(behindPooler({ [name]: value }), false);
    await assert.rejects(required, isOneLineAbout(`${name} is ${value}, `, ' is required'));
  }
  await withOneConnection('named', async (db) => {
    await assert.rejects(requireSessionSettings(db, true), /statement_timeout is 0/);
  });
});
