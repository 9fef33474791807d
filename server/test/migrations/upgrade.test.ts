import assert from 'node:assert/strict';
import { cp, writeFile } from 'node:fs/promises';
import { test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { checkSchema, migrate } from '../../src/database/migrate.ts';
import { MIGRATIONS_FOLDER } from '../../src/database/migration/migration-files.ts';
import { audit } from '../../src/operator/audit.ts';
import { openTestApp } from '../app.ts';
import { sql } from '../task-fixtures.ts';
import { temporaryFolder } from '../temporary-folder.ts';

/** The version after the baseline, invented: it only expands the schema. */
const NEXT = {
  '9001_expand.sql': `-- oldest-program: 0001
alter table tasks add column mood text, add column rating integer not null default 3;
alter table tasks drop constraint tasks_held_cause_check, add constraint tasks_held_cause_check
  check (held_cause in ('acceptance', 'outcome', 'doubt')) not valid;
create table moods (id text primary key references accounts, name text not null);
`,
  '9002_indexes.sql': `-- oldest-program: 0001
-- transaction: none
alter table tasks validate constraint tasks_held_cause_check;
create index concurrently tasks_mood on tasks (mood) where mood is not null;
update tasks set mood = 'calm' where id in (select id from tasks where mood is null limit 1);
`,
};
test('a process of this version serves on while the next version expands the baseline', async () => {
  const app = await openTestApp();
  await using temporary = await temporaryFolder();
  const folder = pathToFileURL(`${temporary.path}/`);
  await cp(MIGRATIONS_FOLDER, folder, { recursive: true });
  for (const [name, text] of Object.entries(NEXT)) await writeFile(new URL(name, folder), text);
  const customer = await app.customer(100_000);
  const { db, url } = app.database;
  const create = async () => {
    const created = await customer.create({ prompt: 'A bridge at noon' });
    assert.equal(created.status, 202);
    return String(created.body.id);
  };
  const before = await create();
  const during: string[] = [];
  const waiting = Promise.withResolvers<void>();
  let migrated: Promise<string[]> | undefined;
  await db.transaction(async (tx) => {
    await sql(tx, 'select count(*) from tasks'); // a backup, which the expansion waits for
    const report = (text: string) => /waits for a lock/.test(text) && waiting.resolve();
    migrated = migrate(url, { folder, lockMs: 100, pauseMs: 50, report });
    await waiting.promise;
    during.push(await create(), await create());
  });
  during.push(await create());
  assert.deepEqual(await migrated, ['9001_expand.sql', '9002_indexes.sql']);
  const after = await create();
  for (const id of [before, ...during, after]) {
    assert.equal((await customer.send({ url: `/api/v1/tasks/${id}` })).status, 200);
  }
  assert.deepEqual(await sql(db, 'select distinct rating from tasks'), [{ rating: 3 }]);
  assert.deepEqual(await sql(db, `select from tasks where mood is null and id = $1`, [before]), []);
  assert.deepEqual(await audit(db), { ok: true, problems: [] });
  await checkSchema(url); // commands of this version work on, and a process may start again
  assert.deepEqual(await migrate(url), []);
});
