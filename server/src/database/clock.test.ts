import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createTestDatabase, quiet } from '../../test/database.ts';
import { followDatabaseClock } from './clock.ts';

test('the clock agrees with the database, also when the machine clock is hours off', async () => {
  const database = await createTestDatabase();
  const { db } = database;
  const stopping = new AbortController();
  try {
    for (const offsetSeconds of [0, -7200, 86_400]) {
      await database.setClock(offsetSeconds);
      const now = await followDatabaseClock({ db, log: quiet, signal: stopping.signal });
      const distanceMs = Math.abs(now() - (Date.now() + offsetSeconds * 1000));
      assert.ok(distanceMs < 1000, `${distanceMs} ms away`);
    }
  } finally {
    stopping.abort();
    await database.close();
  }
});
