import assert from 'node:assert/strict';
import { readdir, readFile } from 'node:fs/promises';
import { test } from 'node:test';
import { namedStatements } from '../../src/database/database.ts';
import { renew } from '../../src/tasks/lease.ts';
import { openTestApp } from '../app.ts';
import { sql } from '../task-fixtures.ts';
import { fillDatabase } from './filled-database.ts';

/** Tables that grow with every task. */
const GROWING = [
  'tasks',
  'attempts',
  'stored_objects',
  'frame_hashes',
  'ledger_transfers',
  'evidence',
  'task_history',
  'task_annotations',
  'webhook_deliveries',
  'webhook_attempts',
];

/** Statements that read whole tables, and may: operators run them, rarely, and wait for them. */
const WHOLE_TABLES = /^audit_/;

const SOURCE = new URL('../../src/', import.meta.url);

const app = await openTestApp(); // adds the statements that routes make
await importStatements();
await fillDatabase(app.database.db, { ended: 6_000, live: 1_000 });

/** Imports every module that names a statement. */
async function importStatements(): Promise<void> {
  const names = await readdir(SOURCE, { recursive: true });
  for (const name of names.filter((file) => /(?<!\.test)\.ts$/.test(file))) {
    const text = await readFile(new URL(name, SOURCE), 'utf8');
    if (/[sS]tatement\(|= (?:query\w*|whether|command)[<(]/.test(text))
      await import(new URL(name, SOURCE).href);
  }
}

interface Plan {
  'Node Type': string;
  'Relation Name'?: string;
  'Shared Hit Blocks'?: number;
  'Shared Read Blocks'?: number;
  Plans?: Plan[];
}

function nodesOf(plan: Plan): Plan[] {
  return [plan, ...(plan.Plans ?? []).flatMap(nodesOf)];
}

async function explain(text: string): Promise<Plan[]> {
  const [row] = await sql<{ 'QUERY PLAN': Array<{ Plan: Plan }> }>(
    app.database.db,
    `explain (generic_plan, format json) ${text}`,
  );
  return (row?.['QUERY PLAN'] ?? []).flatMap(({ Plan: plan }) => nodesOf(plan));
}

test('no statement scans a whole table that grows with the tasks', async () => {
  const wrong: string[] = [];
  const checked = namedStatements().filter(({ name }) => !WHOLE_TABLES.test(name));
  for (const { name, text } of checked) {
    for (const node of await explain(text)) {
      const table = node['Relation Name'] ?? '';
      if (node['Node Type'].endsWith('Seq Scan') && GROWING.includes(table)) {
        wrong.push(`${name} scans ${table}`);
      }
    }
  }
  assert.ok(checked.length > 60, `${checked.length} statements were found`);
  assert.deepEqual(wrong, []);
});

/** Checks how many pages of the database a statement reads. */
async function assertReadsFew(name: string, values: unknown[], most = MAX_PAGES): Promise<void> {
  const made = namedStatements().find((statement) => statement.name === name);
  assert.ok(made, name);
  const explained = `explain (analyze, buffers, format json) ${made.text}`;
  const [row] = await sql<{ 'QUERY PLAN': [{ Plan: Plan }] }>(app.database.db, explained, values);
  const top = row?.['QUERY PLAN'][0].Plan ?? assert.fail();
  const pages = (top['Shared Hit Blocks'] ?? 0) + (top['Shared Read Blocks'] ?? 0);
  assert.ok(pages < most, `${name}(${values}) reads ${pages} pages`);
}

/** A sweep that reads every task or object that waits for a later time reads hundreds of pages. */
const MAX_PAGES = 30;

test('sweeps do not read the rows that are not due yet', async () => {
  const claims = ['submit', 'poll', 'find', 'archive'].map((pool) => `task_claim_${pool}`);
  const objects = ['object_mark_expired', 'object_take_marked'];
  const sweeps = [
    ...claims.map((name) => ({ name, values: [['local'], [32], 32] })),
    ...[...objects, 'upload_forget'].map((name) => ({ name, values: [] })),
    { name: 'webhook_claim', values: [32, 32, 16] },
    { name: 'webhook_due', values: ['we_acc_1', 8] },
    { name: 'webhook_purge_old', values: [] },
    { name: 'webhook_purge_deleted', values: [] },
    { name: 'webhook_deliveries_list', values: ['we_acc_7', null, 5] },
  ];
  for (const { name, values } of sweeps) await assertReadsFew(name, values);
});

test('to look for an overlapping attempt does not read the attempts that have outcomes', async () => {
  const select = `select id from attempts where state = 'accepted' order by id limit 1`;
  const [mine] = await sql<{ id: string }>(app.database.db, select);
  await assertReadsFew('attempt_overlapping', [mine?.id, 180, ['local']]);
});

test('what a create or a delete reads of uploads are their rows alone', async () => {
  const named = [['up_task_7', 'up_task_9', 'obj_none'], 'acc_7'];
  for (const name of ['upload_read', 'upload_use', 'uploads_awaited']) {
    await assertReadsFew(name, named);
  }
  await assertReadsFew('upload_task_in_need', ['acc_7', 'upload:obj_none']);
  const caller = [[Buffer.alloc(32)], ['api'], ['']];
  for (const name of ['admit_upload', 'admit_presigned_upload']) await assertReadsFew(name, caller);
});

test('the gallery of an account reads its own tasks only, whatever it filters by', async () => {
  const all = ['-infinity', 'infinity', 'infinity', ''];
  const live = ['api', 'web'];
  const none = [live, null, null, null, null, null, null];
  const filters = [['web'], 'failed', 'video-2.0', 'key_1', 'dusk', true, 'a tag'];
  const searches = filters.map((wanted, place) =>
    none.map((any, i) => (i === place ? wanted : any)),
  );
  for (const search of [none, ...searches]) {
    // 35 tasks and 24 archived ones, each on a page of its own, and the files of up to 25 of them.
    const values = ['acc_7', ...all, 5000, ...search, 25];
    await assertReadsFew('gallery_list', values, 10 * MAX_PAGES);
    await assertReadsFew('gallery_annotated', values, 10 * MAX_PAGES);
  }
  const ofApi = [['api'], null, null, null, null, null, null];
  await assertReadsFew('gallery_list', ['acc_7', ...all, 6, ...ofApi, 3], 2 * MAX_PAGES);
  const usage = ['acc_7', '-infinity', 'infinity', false];
  await assertReadsFew('gallery_usage', usage, 4 * MAX_PAGES);
  await assertReadsFew('ledger_task_movements', ['acc_7', 'task_7']);
});

test('the renewal of a lease writes no index', async () => {
  const { db } = app.database;
  const update = `update tasks set lease = 1, leased_until = clock_now() + interval '5 seconds'
    where phase = 'generating' and id like '%0' returning id`;
  const tasks = await sql<{ id: string }>(db, update);
  const leases = new Map(tasks.map(({ id }) => [id, 1]));
  await renew(db, leases);
  const before = await updates();
  await renew(db, leases);
  const after = await updates();
  assert.equal(after.total - before.total, leases.size);
  const share = (after.hot - before.hot) / leases.size;
  assert.ok(share > 0.9, `${share * 100} % of the renewals wrote no index`);
});

async function updates(): Promise<{ total: number; hot: number }> {
  const { db } = app.database;
  await sql(db, 'select pg_stat_force_next_flush()');
  const select = `select n_tup_upd as total, n_tup_hot_upd as hot from pg_stat_user_tables
    where relname = 'tasks'`;
  const [row] = await sql<{ total: number; hot: number }>(db, select);
  return row ?? { total: 0, hot: 0 };
}

test('a claim of tasks to ingest reads the accounts, not all tasks that wait', async () => {
  const { db } = app.database;
  await sql(
    db,
    `update tasks set account_id = 'acc_0', due_at = clock_now() - interval '1 hour', phase = 'reserved',
       held_cause = null, request = request || '{"mode": "image-to-video"}'
     where due_at is not null and phase <> 'generating'`,
  );
  await assertReadsFew('task_claim_ingest', [['local'], 4, 0], 10 * MAX_PAGES);
});
