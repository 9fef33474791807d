import assert from 'node:assert/strict';
import path from 'node:path';
import { Readable } from 'node:stream';
import { test } from 'node:test';
import { makeCustomer } from '../../test/customer.ts';
import { openTaskFixture, sql } from '../../test/task-fixtures.ts';
import { temporaryFolder } from '../../test/temporary-folder.ts';
import type { Database } from '../database/database.ts';
import { openScratchDirectory } from '../kernel/scratch-directory.ts';
import { diskStorage } from '../storage/disk.ts';
import { openFreeSpace } from '../storage/free-space.ts';
import { receiveUpload } from './receive.ts';

test('an upload that fails after it was stored takes no room in the quota', async () => {
  await using folder = await temporaryFolder();
  const { db } = await openTaskFixture();
  const failing: Database = {
    ...db,
    query: (text, values) =>
      text.name === 'object_ready'
        ? Promise.reject(new Error('the connection was lost'))
        : db.query(text, values),
  };
  const facts = { kind: 'image', mediaType: 'image/png', width: 96, height: 54 } as const;
  const deps = {
    db: failing,
    storage: diskStorage(path.join(folder.path, 'objects')),
    scratch: openScratchDirectory(path.join(folder.path, 'scratch')),
    measurer: { measure: async () => ({ kind: 'measured', facts }) as const },
    space: openFreeSpace({ folder: folder.path, hasObjects: false, reservedBytes: async () => 0 }),
  };
  const { accountId } = await makeCustomer(db, 0);
  const uploader = { accountId, mailbox: 'ada@example.com', lastsDays: 1 };
  const bytes = Readable.from([Buffer.from('a picture')]);
  const { signal } = new AbortController();
  const received = { uploader, bytes, sizeBytes: 9, expected: 'image', signal } as const;
  await assert.rejects(receiveUpload(deps, received), /the connection was lost/);
  const text = 'select state from stored_objects where owner_id = $1';
  assert.deepEqual(await sql(db, text, [accountId]), [{ state: 'deleting' }]);
});
