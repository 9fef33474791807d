import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { openTestDatabase } from '../../test/database.ts';
import { type Links, openLinks, rotateSecrets } from './links.ts';
import type { Storage } from './storage.ts';

const NOW_SECONDS = 1_900_000_000;

const database = await openTestDatabase();

function open(deliverySeconds = 3600) {
  return openLinks({ db: database.db, publicUrl: () => 'https://video.test', deliverySeconds });
}

function paramsOf(link: string) {
  const url = new URL(link);
  const { expires = '', signature = '' } = Object.fromEntries(url.searchParams);
  return { path: url.pathname, expires, signature };
}

test('a link has its object, its expiry and a valid signature', async () => {
  const links = await open();
  const link = links.linkTo('obj_1', NOW_SECONDS + 0.9);
  assert.match(link, /^https:\/\/video\.test\/media\/obj_1\.mp4\?expires=\d+&signature=[\w-]{43}$/);
  assert.equal(links.expiryOf('obj_1', paramsOf(link)), NOW_SECONDS + 3600);
});

test('an input link is the storage’s own if that works until its expiry', async () => {
  const inputLink = async (presign: Storage['presign']) => {
    const options = { db: database.db, publicUrl: () => 'https://video.test', presign };
    const links = await openLinks({ ...options, deliverySeconds: 60 });
    return links.inputLinkTo('obj_1', NOW_SECONDS, 'image/png');
  };
  const url = 'https://bucket.test/obj_1';
  assert.equal(await inputLink(async () => ({ url, worksUntilExpiry: true })), url);
  const own = /^https:\/\/video\.test\/media\/obj_1\.png\?/;
  assert.match(await inputLink(async () => ({ url, worksUntilExpiry: false })), own);
  assert.match(await inputLink(() => Promise.reject(new Error('no credentials'))), own);
  assert.match(await inputLink(undefined), own);
});

test('a link of one process is valid in all others, also when they start at the same time', async () => {
  const all = await Promise.all(Array.from({ length: 4 }, () => open()));
  for (const maker of all) {
    const query = paramsOf(maker.linkTo('obj_2', NOW_SECONDS));
    for (const checker of all) checker.expiryOf('obj_2', query);
  }
});

test('a link with any changed character is rejected', async () => {
  const links = await open();
  const good = paramsOf(links.linkTo('obj_3', NOW_SECONDS));
  const refused = (id: string, query: { expires?: string; signature?: string }) =>
    assert.throws(() => links.expiryOf(id, query), { code: 'link_invalid' });
  const place = fc.nat({ max: good.signature.length - 1 });
  fc.assert(
    fc.property(place, fc.constantFrom(...'abcXYZ019-_='), (at, character) => {
      const signature = good.signature.slice(0, at) + character + good.signature.slice(at + 1);
      if (signature !== good.signature) refused('obj_3', { ...good, signature });
    }),
  );
  refused('obj_4', good);
  refused('obj_3', { ...good, expires: String(Number(good.expires) + 1) });
  refused('obj_3', { ...good, expires: `0${good.expires}` });
  refused('obj_3', { ...good, signature: `${good.signature}=` });
  refused('obj_3', { expires: good.expires });
  refused('obj_3', { signature: good.signature });
  refused('obj_3', {});
});

const HOUR = 3600;
const rotate = (seconds: number) => database.db.transaction((tx) => rotateSecrets(tx, seconds));

function isAccepted(links: Links, link: string): boolean {
  const { path, ...query } = paramsOf(link);
  const id = path.replace(/^\/media\/|\.\w+$/g, '');
  try {
    return links.expiryOf(id, query) > 0;
  } catch {
    return false;
  }
}

test('processes change to a new secret together, and old links work for the stated time', async () => {
  const [one, other] = [await open(), await open()];
  const old = one.linkTo('obj_1', 1e9);
  const callback = one.callbackTo('fal', 'att_1').split('/').at(-1) ?? '';
  const share = `share_${'x'.repeat(24)}`;
  const token = one.shareToken(share);
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
  assert.equal(other.shareOf(token), share);
  await database.setClock(2 * HOUR + 20);
  await other.refresh();
  assert.deepEqual([isAccepted(other, old), isAccepted(other, fresh)], [false, true]);
  assert.equal(other.attemptOf('fal', callback), undefined);
  const opened = [other.shareOf(token), other.shareOf(one.shareToken(share))];
  assert.deepEqual(opened, [undefined, share]);
});

test('a cut-off after a rotation makes no other secret, and ends the old one', async () => {
  const links = await open();
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
