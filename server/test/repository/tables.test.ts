import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createTestDatabase } from '../database.ts';
import { sql } from '../task-fixtures.ts';
import { product } from './sources.ts';

/** The room of server/src that owns each table. Only files of this room name the table in SQL. */
const OWNERS = {
  database: 'database_marks migrations recoveries',
  brand: 'brand',
  catalog: 'model_files model_prices models presets',
  credentials: 'signing_certificates',
  ledger: 'ledger_balances ledger_lot_movements ledger_lots ledger_transfers',
  storage: 'blocked_digests delivery_secrets frame_hashes stored_objects',
  providers: 'local_jobs pauses provider_outages provider_turns',
  accounts: `account_closings account_deletions account_exports accounts api_key_requests api_key_uses api_keys
    request_windows`,
  routing: 'routes terms',
  tasks: 'idempotency_keys task_history task_annotations tasks',
  attempts: 'attempts cancel_requests evidence orphan_jobs',
  worker: 'clock_marks job_times workers',
  uploads: 'uploads',
  billing: `billing_accounts offers order_payments orders payment_lookups plan_prices
    portal_configurations stripe_customers stripe_events subscriptions`,
  'sign-in': `identities passkey_challenges passkeys proof_codes sessions sign_in_codes
    sign_in_starts signup_grants`,
  mail: 'mails',
  moderation: 'account_pauses moderation_verdicts',
  reports: 'reports',
  shares: 'shares',
  webhooks: 'webhook_attempts webhook_deliveries webhook_endpoints',
  operator: 'audit_runs operator_actions',
  site: 'client_packages',
};

const ROOM_OF = new Map(
  Object.entries(OWNERS).flatMap(([room, tables]) =>
    tables.split(/\s+/).map((table) => [table, room]),
  ),
);

/**
 * Rooms that also name the tables of rooms below them: what they do to an attempt or to a lease is
 * one statement with what they read or lock of the task.
 */
const BUILD_ON: Record<string, string[]> = { attempts: ['tasks'], worker: ['tasks', 'attempts'] };

function mayName(file: string, table: string): boolean {
  const [, , room = ''] = file.split('/');
  return [room, ...(BUILD_ON[room] ?? [])].includes(ROOM_OF.get(table) ?? '');
}

/** Lists that join tables of several rooms. They only read. */
const LISTINGS = 'server/src/operator/listings/';

/** The tables that the SQL in a text names: after these words, in lists with commas. */
function tablesIn(text: string): string[] {
  const code = text.replaceAll(/\/\*.*?\*\//gs, '').replaceAll(/(^|\s)\/\/[^\n]*/g, '');
  const lists = code.matchAll(
    /\b(?:from|join|into|update|using|table|lock)\s+(?:only\s+)?((?:\w+(?:\s+\w+){0,2}\s*,\s*)*\w+)/gi,
  );
  const inSql = [...lists].flatMap(([, list = '']) => list.split(',')).map((one) => one.trim());
  const words = inSql.map((name) => /^\w+/.exec(name)?.[0].toLowerCase() ?? '');
  return [...new Set(words)].filter((name) => ROOM_OF.has(name));
}

const named = product.map(({ name, text }) => ({ name, text, tables: tablesIn(text) }));

test('each table of the schema has one owner', async () => {
  const { db, close } = await createTestDatabase();
  try {
    const select = `select relname as name from pg_class
      where relnamespace = 'public'::regnamespace and relkind in ('r', 'p') order by relname`;
    const rows = await sql<{ name: string }>(db, select);
    const tables = rows.map(({ name }) => name);
    assert.deepEqual(tables, [...ROOM_OF.keys()].toSorted());
  } finally {
    await close();
  }
});

test('only the room of a table, and rooms that build on it, name it in SQL, but for listings', () => {
  const wrong = named
    .filter(({ name }) => !name.startsWith(LISTINGS))
    .flatMap(({ name, tables }) =>
      tables
        .filter((table) => !mayName(name, table))
        .map((table) => `${name} names ${table}, which ${ROOM_OF.get(table)}/ owns`),
    );
  assert.deepEqual(wrong, []);
});

test('a room names its own tables, so the search for names finds them', () => {
  const found = new Set(named.flatMap(({ tables }) => tables));
  const unseen = [...ROOM_OF.keys()].filter((table) => !found.has(table));
  assert.deepEqual(unseen, ['proof_codes'], 'sign-in/codes.ts has it from a parameter');
  const samples = {
    'select 1 from held h, orders o where true': ['orders'],
    'with x as (delete from only sessions\n  using accounts a)': ['sessions', 'accounts'],
    "import { tasks } from './tasks.ts' // from tasks": [],
  };
  for (const [text, tables] of Object.entries(samples)) assert.deepEqual(tablesIn(text), tables);
});

test('listings of several rooms only read, and a listing of one room is with its owner', () => {
  const listings = named.filter(({ name }) => name.startsWith(LISTINGS));
  const changes = /\b(?:insert|update|delete|lock|truncate)\b/i;
  const wrong = listings
    .filter(
      ({ text, tables }) =>
        changes.test(text.replaceAll(/^import.*|\/\*.*?\*\//gms, '')) ||
        new Set(tables.map((table) => ROOM_OF.get(table))).size < 2,
    )
    .map(({ name }) => name);
  assert.ok(listings.length > 0);
  assert.deepEqual(wrong, []);
});
