import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import fc from 'fast-check';
import { createTestDatabase } from '../../test/database.ts';
import { sql } from '../../test/task-fixtures.ts';
import { type Links, openLinks } from './links.ts';
import type { Storage } from './storage.ts';

const NOW_SECONDS = 1_900_000_000;

const database = await createTestDatabase();
after(() => database.close());

function open(deliverySeconds = 3600): Promise<Links> {
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

test('an input link is the storage’s own if it lasts, and the service’s otherwise', async () => {
  const inputLink = async (presign: Storage['presign']) => {
    const options = { db: database.db, publicUrl: () => 'https://video.test', presign };
    const links = await openLinks({ ...options, deliverySeconds: 60 });
    return links.inputLinkTo('obj_1', NOW_SECONDS, 'image/png');
  };
  const url = 'https://bucket.test/obj_1';
  assert.equal(await inputLink(async () => ({ url, lasts: true })), url);
  const own = /^https:\/\/video\.test\/media\/obj_1\.png\?/;
  assert.match(await inputLink(async () => ({ url, lasts: false })), own);
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

test('the newest secret signs, and links of older secrets stay valid', async () => {
  const old = paramsOf((await open()).linkTo('obj_5', NOW_SECONDS));
  await sql(database.db, 'insert into delivery_secrets (id, secret) values (2, $1)', [
    Buffer.alloc(32, 7),
  ]);
  const links = await open();
  const fresh = paramsOf(links.linkTo('obj_5', NOW_SECONDS));
  assert.notEqual(fresh.signature, old.signature);
  assert.equal(links.expiryOf('obj_5', old), links.expiryOf('obj_5', fresh));
});
