import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assertError } from '../../../test/envelope.ts';
import { sql } from '../../../test/task-fixtures.ts';
import { openTestWebsite } from '../../../test/website/website.ts';

const PATH = '/console/api/webhooks';
const BODY = { url: 'https://example.com/hook', events: ['task.completed'] };

const website = await openTestWebsite();

test('an endpoint is made, changed, tested and deleted', async () => {
  const visitor = await website.signIn();
  const made = await visitor.write(PATH, BODY);
  assert.equal(made.status, 201);
  const { secret, ...endpoint } = made.body;
  assert.match(secret, /^whsec_/);
  const url = `${PATH}/${endpoint.id}`;
  assert.deepEqual((await visitor.get(url)).body, endpoint);
  assert.deepEqual((await visitor.get(PATH)).body.items, [endpoint]);
  const sent = await visitor.write(`${url}/test`);
  const { items } = (await visitor.get(`${url}/deliveries`)).body;
  assert.deepEqual([items.length, items[0].event_id], [1, sent.body.event_id]);
  const again = `${url}/deliveries/${sent.body.event_id}/send`;
  assert.deepEqual((await visitor.write(again)).body, sent.body);
  const changed = await visitor.write(url, { enabled: false, events: ['credits.low'] }, 'PATCH');
  const endpointNow = [changed.body.disabled_because, changed.body.events];
  assert.deepEqual(endpointNow, ['owner', ['credits.low']]);
  assertError(await visitor.write(`${url}/test`), 'invalid_request');
  assert.equal((await visitor.delete(url)).status, 204);
  assertError(await visitor.get(url), 'not_found');
});

test('a new endpoint and a new secret need a fresh proof, and a mail tells the owner', async () => {
  const visitor = await website.signIn();
  const { id } = (await visitor.write(PATH, BODY)).body;
  const notices = () =>
    sql<{ notice: string; notice_from: string }>(
      website.database.db,
      'select notice, notice_from from webhook_endpoints where account_id = $1',
      [visitor.accountId],
    );
  const [made] = await notices();
  assert.equal(made?.notice, 'created');
  assert.match(String(made?.notice_from), /^the website, .*network/);
  await website.outdateProof(visitor);
  assertError(await visitor.write(PATH, BODY), 'proof_required');
  assertError(await visitor.write(`${PATH}/${id}/secret`), 'proof_required');
  assertError(
    await visitor.write(`${PATH}/${id}`, { url: 'https://evil.example/' }, 'PATCH'),
    'invalid_request',
  );
});
