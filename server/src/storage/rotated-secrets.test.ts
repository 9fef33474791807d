import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { createTestDatabase } from '../../test/database.ts';
import { openLinks, rotateSecrets } from './links.ts';

const database = await createTestDatabase();
after(() => database.close());

const HOUR = 3600;
const rotate = (seconds: number) => database.db.transaction((tx) => rotateSecrets(tx, seconds));

/** The links of a process of its own. */
function openProcess() {
  const publicUrl = () => 'https://video.example.com';
  return openLinks({ db: database.db, publicUrl, deliverySeconds: HOUR });
}

type Links = Awaited<ReturnType<typeof openProcess>>;

function isAccepted(links: Links, link: string): boolean {
  const { pathname, searchParams } = new URL(link);
  const id = pathname.replace(/^\/media\/|\.\w+$/g, '');
  const query = Object.fromEntries(searchParams);
  try {
    return links.expiryOf(id, query) > 0;
  } catch {
    return false;
  }
}

test('processes change to a new secret together, and old links work for the stated time', async () => {
  const [one, other] = [await openProcess(), await openProcess()];
  const old = one.linkTo('obj_1', 1e9);
  const callback = one.callbackTo('fal', 'att_1').split('/').at(-1) ?? '';
  const [first, second] = await Promise.all([rotate(2 * HOUR), rotate(2 * HOUR)]);
  assert.deepEqual([first.changed, second.changed].sort(), [false, true]);
  assert.equal(first.secret_id, second.secret_id);
  await one.refresh(); // the other process has not read the secrets yet
  assert.equal(one.linkTo('obj_1', 1e9), old, 'the old secret signs until all have the new one');
  await other.refresh();
  await database.setClock(20);
  await Promise.all([one.refresh(), other.refresh()]);
  const fresh = one.linkTo('obj_1', 1e9);
  assert.notEqual(fresh, old);
  assert.ok([old, fresh].every((link) => isAccepted(other, link)));
  assert.equal(other.attemptOf('fal', callback), 'att_1');
  await database.setClock(2 * HOUR + 20);
  await other.refresh();
  assert.deepEqual([isAccepted(other, old), isAccepted(other, fresh)], [false, true]);
  assert.equal(other.attemptOf('fal', callback), undefined);
});

test('a cut-off after a rotation makes no other secret, and ends the old one', async () => {
  const links = await openProcess();
  const { secret_id: id } = await rotate(9 * HOUR);
  const old = links.linkTo('obj_2', 1e9);
  const cut = await rotate(0);
  assert.deepEqual([cut.secret_id, cut.changed], [id, true]);
  assert.equal((await rotate(0)).changed, false);
  assert.equal((await rotate(9 * HOUR)).changed, false, 'nothing becomes valid again');
  await links.refresh();
  assert.ok(isAccepted(links, old));
  await database.setClock(2 * HOUR + 60);
  await links.refresh();
  assert.ok(!isAccepted(links, old));
  assert.ok(isAccepted(links, links.linkTo('obj_2', 1e9)));
});
