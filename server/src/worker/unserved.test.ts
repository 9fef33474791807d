import assert from 'node:assert/strict';
import { test } from 'node:test';
import { recordingLog } from '../../test/recording-log.ts';
import { makeTask, openTaskFixture } from '../../test/task-fixtures.ts';
import { reportAlive, reportGone, unservedTasks, warnOfUnserved } from './live-workers.ts';

test('a warning names each provider of live tasks that no running worker has, and what to set', async () => {
  const fixture = await openTaskFixture();
  try {
    for (const providerName of ['fal', 'fal', 'replicate', 'local']) {
      await makeTask(fixture, { providerName });
    }
    const other = { id: 'other', providers: ['local', 'replicate'], ingestSlots: 8 };
    const fleet = await reportAlive(fixture.db, other);
    assert.deepEqual(fleet, { ingestSlots: 8, unservedProviders: ['fal'] });
    assert.deepEqual(await unservedTasks(fixture.db), [{ provider: 'fal', tasks: 2 }]);
    const { log, lines } = recordingLog();
    const configured = new Map([['local', {}]]);
    await warnOfUnserved(configured, { db: fixture.db, log });
    const [line] = lines.map((text) => JSON.parse(text));
    assert.equal(lines.length, 1);
    assert.deepEqual([line.provider, line.tasks], ['fal', 2]);
    assert.match(line.msg, /set FAL_API_KEY/);
    await reportGone(fixture.db, 'other');
    const unserved = (await unservedTasks(fixture.db)).map(({ provider }) => provider);
    assert.deepEqual(unserved, ['fal', 'local', 'replicate']);
  } finally {
    await fixture.close();
  }
});
