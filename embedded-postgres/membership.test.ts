import assert from 'node:assert/strict';
import { closeSync, constants, openSync, readSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { type DatabaseFolder, makeFolder } from './folder.ts';
import { hasMembers, joinGuarded, joinUnguarded, makePipe, openBothEnds } from './membership.ts';
import { until } from './test/other-process.ts';

async function folderWithPipe(t: TestContext): Promise<DatabaseFolder> {
  const dataDir = await mkdtemp(join(tmpdir(), 'embedded membership '));
  t.after(() => rm(dataDir, { recursive: true, force: true }));
  const folder = await makeFolder(dataDir);
  await makePipe(folder, { kind: 'self' });
  return folder;
}

/** The guard's end of the pipe, opened in this process. */
function openAsGuard(folder: DatabaseFolder) {
  const end = openSync(folder.pipe, constants.O_RDONLY | constants.O_NONBLOCK);
  let received = '';
  const receive = () => {
    const bytes = Buffer.alloc(512);
    try {
      received += bytes.toString('utf8', 0, readSync(end, bytes));
    } catch {} // nothing to read yet
    return received.includes('\n');
  };
  return { receive, token: () => received.trim(), leave: () => closeSync(end) };
}

test('a guard that ends before it confirms is not joined', async (t) => {
  const folder = await folderWithPipe(t);
  const guard = openAsGuard(folder);
  const joining = joinGuarded(folder, 60);
  await until(guard.receive);
  guard.leave();
  assert.equal(await joining, undefined);
});

test('a guard that confirms is joined, and the process is a member until it leaves', async (t) => {
  const folder = await folderWithPipe(t);
  const guard = openAsGuard(folder);
  const joining = joinGuarded(folder, 60);
  await until(guard.receive);
  await writeFile(join(folder.path, `joined-${guard.token()}`), '');
  const membership = await joining;
  assert.equal(membership?.isGuarded, true);
  assert.equal(hasMembers(folder), true);
  membership?.leave();
  membership?.leave();
  assert.equal(hasMembers(folder), false);
  guard.leave();
});

test('a guard that neither answers nor ends is reported', async (t) => {
  const folder = await folderWithPipe(t);
  const guard = openAsGuard(folder);
  await assert.rejects(joinGuarded(folder, 0), { name: 'EmbeddedPostgresError' });
  guard.leave();
});

test('members can still detect each other without a guard', async (t) => {
  const folder = await folderWithPipe(t);
  assert.equal(await joinGuarded(folder, 60), undefined);
  const { membership, readingEnd } = openBothEnds(folder);
  closeSync(readingEnd);
  const other = joinUnguarded(folder);
  assert.equal(other.isGuarded, false);
  membership.leave();
  assert.equal(hasMembers(folder), true);
  other.leave();
  assert.equal(hasMembers(folder), false);
});

test('a file that is not a named pipe is refused and not written to', async (t) => {
  const folder = await folderWithPipe(t);
  await rm(folder.pipe);
  await writeFile(folder.pipe, 'precious');
  await assert.rejects(joinGuarded(folder, 60), /not a named pipe/);
});
