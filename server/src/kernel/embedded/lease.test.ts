import assert from 'node:assert/strict';
import { closeSync, constants, openSync, readSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { type DatabaseFolder, makeFolder } from './folder.ts';
import { hasUsers, joinGuarded, joinUnguarded, makePipe, openBothEnds } from './lease.ts';
import { until } from './other-process.ts';

async function folderWithPipe(t: TestContext): Promise<DatabaseFolder> {
  const dataDir = await mkdtemp(join(tmpdir(), 'embedded lease '));
  t.after(() => rm(dataDir, { recursive: true, force: true }));
  const folder = await makeFolder(dataDir);
  await makePipe(folder, { kind: 'self' });
  return folder;
}

/** A guard's end of the pipe, in this process. */
function listenAsGuard(folder: DatabaseFolder) {
  const end = openSync(folder.users, constants.O_RDONLY | constants.O_NONBLOCK);
  let heard = '';
  const hear = () => {
    const bytes = Buffer.alloc(512);
    try {
      heard += bytes.toString('utf8', 0, readSync(end, bytes));
    } catch {} // nothing to read yet
    return heard.includes('\n');
  };
  return { hear, token: () => heard.trim(), leave: () => closeSync(end) };
}

test('a guard that saw its end before we came is not joined', async (t) => {
  const folder = await folderWithPipe(t);
  const guard = listenAsGuard(folder);
  const joining = joinGuarded(folder, 60);
  await until(guard.hear);
  guard.leave();
  assert.equal(await joining, undefined);
});

test('a guard that answers is joined, and counts us until we leave', async (t) => {
  const folder = await folderWithPipe(t);
  const guard = listenAsGuard(folder);
  const joining = joinGuarded(folder, 60);
  await until(guard.hear);
  await writeFile(join(folder.path, `joined-${guard.token()}`), '');
  const lease = await joining;
  assert.equal(lease?.isGuarded, true);
  assert.equal(hasUsers(folder), true);
  lease?.release();
  lease?.release();
  assert.equal(hasUsers(folder), false);
  guard.leave();
});

test('a guard that neither answers nor ends is reported', async (t) => {
  const folder = await folderWithPipe(t);
  const guard = listenAsGuard(folder);
  await assert.rejects(joinGuarded(folder, 0), { name: 'UsageError' });
  guard.leave();
});

test('without a guard users still count each other', async (t) => {
  const folder = await folderWithPipe(t);
  assert.equal(await joinGuarded(folder, 60), undefined);
  const { lease, readingEnd } = openBothEnds(folder);
  closeSync(readingEnd);
  const other = joinUnguarded(folder);
  assert.equal(other.isGuarded, false);
  lease.release();
  assert.equal(hasUsers(folder), true);
  other.release();
  assert.equal(hasUsers(folder), false);
});

test('what is no named pipe is refused, not written to', async (t) => {
  const folder = await folderWithPipe(t);
  await rm(folder.users);
  await writeFile(folder.users, 'precious');
  await assert.rejects(joinGuarded(folder, 60), /not a named pipe/);
});
