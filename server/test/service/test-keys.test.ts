import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { after, test } from 'node:test';
import { createAccount } from '../../src/accounts/accounts.ts';
import { createKey } from '../../src/accounts/api-keys.ts';
import { TEST_OUTCOMES } from '../../src/catalog/test-outcomes.ts';
import { violatedConstraint } from '../../src/database/database.ts';
import { grant } from '../../src/ledger/ledger.ts';
import { readFigures } from '../../src/operator/listings/figures.ts';
import { type Client, client, send } from '../client.ts';
import { openMediaFixture } from '../media/media-fixture.ts';
import { sql } from '../task-fixtures.ts';

const PAGE = new URL('../../../docs/customers/test-keys.md', import.meta.url);
const PRICE = 250;

const fixture = await openMediaFixture({
  environment: { PROVIDER: 'local', RECONCILE_SECONDS: '3600' },
});
const { db } = fixture;
const accountId = await createAccount(db, 'ada@example.com');
await grant(db, { accountId, kind: 'paid', credits: 1000, reference: 'r1' });
const live = client(fixture.url, (await createKey(db, { accountId })).secret);

after(() => fixture.close());

/** A client with a new test key, so that no rate window gets full. */
async function tester(): Promise<Client> {
  return client(fixture.url, (await createKey(db, { accountId, mode: 'test' })).secret);
}

/** The rows of the table of docs/customers/test-keys.md: the word, and the status of the response. */
async function documented(): Promise<Map<string, number>> {
  const rows = (await readFile(PAGE, 'utf8')).matchAll(/^\| `test-([a-z-]+)` \|.*\| (\d{3})\b/gm);
  return new Map([...rows].map(([, word = '', status]) => [word, Number(status)]));
}

// What becomes of the task of each word: acceptance/test-keys.test.ts.
test('each word of the table has the status in the table; tasks held on purpose alarm nobody', async () => {
  const table = await documented();
  assert.deepEqual([...table.keys()].sort(), [...TEST_OUTCOMES].sort());
  const api = await tester();
  const ids = await Promise.all(
    [...table].map(async ([word, status]) => {
      const { body, ...response } = await api.create({ prompt: `A boat, test-${word}` });
      assert.equal(response.status, status, `${word}: ${JSON.stringify(body)}`);
      if (status === 429) assert.match(response.headers.get('ratelimit') ?? '', /;r=0;t=2$/);
      return body.id ?? body.error.details.task_id;
    }),
  );
  assert.deepEqual((await readFigures(db)).held, []);
  await fixture.database.setClock(31);
  for (const id of ids.filter(Boolean)) await fixture.settled(id);
  const { body } = await api.credits();
  assert.deepEqual(body, { available_credits: 100_000 - 3 * PRICE, balance_type: 'paid' });
  assert.equal((await live.credits()).body.available_credits, 1000);
  await fixture.database.setClock(0);
});

test('the quote for a test word says whether the credits suffice for its create', async () => {
  const quote = async (authorization: string, prompt: string) => {
    const headers = { authorization, 'content-type': 'application/json' };
    const init = { method: 'POST', headers, body: JSON.stringify({ prompt }) };
    return (await send(`${fixture.url}/api/v1/video/quotes`, init)).body.enough;
  };
  const key = `Bearer ${(await createKey(db, { accountId, mode: 'test' })).secret}`;
  assert.equal(await quote(key, 'A boat, test-slow'), true);
  assert.equal(await quote(key, 'A boat, test-insufficient-credits'), false);
});

test('the tasks of a test key are taken while the provider of new tasks is closed', async () => {
  await sql(db, `insert into pauses (subject, reason) values ('local', 'maintenance')`);
  const api = await tester();
  assert.equal((await live.create({ prompt: 'A paper boat' })).status, 503);
  const { status, body } = await api.create({ prompt: 'A paper boat' });
  assert.equal(status, 202);
  await fixture.settled(body.id, 'completed');
  await sql(db, `delete from pauses`);
});

test('a test task is given to no other provider', async () => {
  const { body } = await (await tester()).create({ prompt: 'A boat, test-slow' });
  const change = (set: string) =>
    sql(db, `update tasks set ${set} where id = $1`, [body.id]).catch(violatedConstraint);
  assert.equal(await change(`provider = 'local'`), 'test_tasks_are_scripted');
  await fixture.database.setClock(31);
  await fixture.settled(body.id, 'completed');
  await fixture.database.setClock(0);
});
