import assert from 'node:assert/strict';
import { test } from 'node:test';
import { listeningLog } from '../../test/listening-log.ts';
import { makeTask, openTaskFixture } from '../../test/task-fixtures.ts';
import { warnOfUnserved } from './unserved.ts';

test('a warning names each provider of live tasks that is not configured, and what to set', async () => {
  const fixture = await openTaskFixture();
  try {
    for (const providerName of ['fal', 'fal', 'replicate', 'local']) {
      await makeTask(fixture, { providerName });
    }
    const { log, lines } = listeningLog();
    const configured = new Map([
      ['local', {}],
      ['replicate', {}],
    ]);
    await warnOfUnserved(configured, { db: fixture.db, log });
    const [line] = lines.map((text) => JSON.parse(text));
    assert.equal(lines.length, 1);
    assert.deepEqual([line.provider, line.tasks], ['fal', 2]);
    assert.match(line.msg, /set FAL_API_KEY/);
  } finally {
    await fixture.close();
  }
});
