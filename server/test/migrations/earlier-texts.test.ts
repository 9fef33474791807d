import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { migrate } from '../../src/database/migrate.ts';
import { EARLIER_CHECKSUMS } from '../../src/database/migration/earlier-checksums.ts';
import { MIGRATIONS_FOLDER, readMigrations } from '../../src/database/migration/migration-files.ts';
import { createTestDatabase } from '../database.ts';
import { sql } from '../task-fixtures.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { lastCommitsOfTexts, missingHistory, unpackMigrations } from './earlier-texts.ts';
import { dumpSchema } from './schema-dump.ts';

const skip = (await missingHistory()) ?? false;

let scratch: Awaited<ReturnType<typeof temporaryFolder>>;
/** The folders of migrations, by the commit that they come from. */
const folders = new Map<string, URL>();

before(async () => {
  scratch = await temporaryFolder();
  if (skip) return;
  for (const commit of await lastCommitsOfTexts()) {
    folders.set(commit, await unpackMigrations(commit, scratch.path));
  }
});
after(() => scratch[Symbol.asyncDispose]());

test('each text that a migration ever had is accepted', { skip }, async () => {
  const present = await readMigrations(MIGRATIONS_FOLDER);
  const accepted = new Set(present.map(({ name, checksum }) => `${name} ${checksum}`));
  for (const [name, checksums] of Object.entries(EARLIER_CHECKSUMS)) {
    for (const checksum of checksums) accepted.add(`${name} ${checksum}`);
  }
  for (const [commit, folder] of folders) {
    const texts = (await readMigrations(folder)).map(({ name, checksum }) => `${name} ${checksum}`);
    assert.deepEqual(
      texts.filter((text) => !accepted.has(text)),
      [],
      `the texts of ${commit} belong in earlier-checksums.ts`,
    );
  }
});

test('a database with earlier texts is upgraded to the schema of a new one', {
  skip,
}, async (t) => {
  await using fresh = await openDatabase();
  const expected = await dumpSchema(fresh.db);
  for (const [commit, folder] of folders) {
    await using old = await openDatabase();
    await sql(old.db, 'drop schema public cascade; create schema public');
    await migrate(old.url, { folder });
    const ran = await migrate(old.url);
    assert.deepEqual(await dumpSchema(old.db), expected, commit);
    t.diagnostic(`${commit.slice(0, 7)}: ${ran.length} migrations ran`);
  }
});

test('an order that was open under the earlier text is pending', async () => {
  await using old = await openDatabase();
  const { db, url } = old;
  await sql(
    db,
    `alter table orders alter column state set default 'open', drop constraint orders_state_check,
       add constraint orders_state_check check (state in ('open', 'paid'));
     drop index if exists orders_one_reload;
     create unique index orders_one_reload on orders (account_id)
       where kind = 'reload' and state = 'open';
     insert into accounts (id, email) values ('acct_1', 'ada@example.com');
     insert into offers (id, kind, name, credits, price, currency)
       values ('small', 'pack', 'Small', 10, 100, 'eur');
     insert into orders (id, account_id, kind, offer_id, credits, price, currency)
       values ('order_1', 'acct_1', 'pack', 'small', 10, 100, 'eur');
     delete from migrations where name = '0076_earlier_texts.sql'`,
  );
  assert.deepEqual(await migrate(url), ['0076_earlier_texts.sql']);
  assert.deepEqual(await sql(db, 'select state from orders'), [{ state: 'pending' }]);
});

async function openDatabase() {
  const database = await createTestDatabase();
  return { ...database, [Symbol.asyncDispose]: () => database.close() };
}
