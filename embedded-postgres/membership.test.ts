import assert from 'node:assert/strict';
import { closeSync, constants, openSync, readSync } from 'node:fs';
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { type DatabaseFolder, makeFolder } from './folder.ts';
import { hasMembers, joinGuarded, makePipe } from './membership.ts';
import { until } from './test/other-process.ts';
import { temporaryFolder } from './test/temporary-folder.ts';

async function folderWithPipe(t: TestContext): Promise<DatabaseFolder> {
  const folder = await makeFolder(await temporaryFolder(t));
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
  assert.ok(membership);
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

test('a file that is not a named pipe is refused and not written to', async (t) => {
  const folder = await folderWithPipe(t);
  await rm(folder.pipe);
  await writeFile(folder.pipe, 'precious');
  await assert.rejects(joinGuarded(folder, 60), /not a named pipe/);
});
