import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { sql } from '../../test/task-fixtures.ts';
import { openTestWebsite } from '../../test/website/website.ts';

const website = await openTestWebsite();
after(() => website.close());

test('a digest tells whether and when an output was stored, and nothing else', async () => {
  const sha256 = 'ab'.repeat(32);
  await sql(
    website.database.db,
    `insert into stored_objects (id, owner_id, role, state, media_type, created_at, sha256)
     values ('obj_1', 'task_1', 'output', 'deleted', 'video/mp4', '2026-11-28T12:00:00Z', $1)`,
    [sha256],
  );
  const ask = async (digest: string) => {
    const { status, body } = await website.stranger.get(`/console/api/verify?sha256=${digest}`);
    return [status, status === 200 ? body : body.error.code];
  };
  assert.deepEqual(await ask(sha256), [200, { stored_at: '2026-11-28T12:00:00.000Z' }]);
  assert.deepEqual(await ask('cd'.repeat(32)), [200, { stored_at: null }]);
  for (const wrong of ['', 'ab', sha256.toUpperCase()]) {
    assert.deepEqual(await ask(wrong), [400, 'invalid_request']);
  }
});
