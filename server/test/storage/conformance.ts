import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { test } from 'node:test';
import { newId } from '../../src/kernel/ids.ts';
import { ObjectMissing, type Storage } from '../../src/storage/storage.ts';
import { temporaryFolder } from '../temporary-folder.ts';

const BYTES = Buffer.from('0123456789');

/** Puts the bytes as a new object and returns its id. */
export async function putBytes(storage: Storage, bytes: Uint8Array): Promise<string> {
  await using folder = await temporaryFolder();
  const filePath = path.join(folder.path, 'file');
  await writeFile(filePath, bytes);
  const id = newId('object');
  await storage.put(id, filePath);
  return id;
}

async function bytesOf(stream: Promise<Readable>): Promise<string> {
  return String(await buffer(await stream));
}

/** Tests of what every storage promises, for the one that `open` returns. */
export function testStorage(name: string, open: () => Promise<Storage>): void {
  const check = (title: string, work: (storage: Storage) => Promise<void>) =>
    test(`${name}: ${title}`, async () => work(await open()));

  check('an object, also an empty one, can be read repeatedly, byte for byte', async (storage) => {
    for (const bytes of [crypto.getRandomValues(Buffer.alloc(65_536)), Buffer.alloc(0)]) {
      const id = await putBytes(storage, bytes);
      for (let i = 0; i < 2; i += 1) {
        assert.ok(bytes.equals(await buffer(await storage.open(id))));
      }
    }
  });

  check('a range includes both its ends', async (storage) => {
    const id = await putBytes(storage, BYTES);
    const ranges = { '0-0': '0', '0-9': '0123456789', '3-5': '345', '9-9': '9' };
    for (const [text, expected] of Object.entries(ranges)) {
      const [first = 0, last = 0] = text.split('-').map(Number);
      assert.equal(await bytesOf(storage.open(id, { first, last })), expected, text);
    }
  });

  check(
    'to open a missing object fails with ObjectMissing, not with an empty stream',
    async (storage) => {
      await assert.rejects(storage.open(newId('object')), ObjectMissing);
      await assert.rejects(storage.open(newId('object'), { first: 0, last: 1 }), ObjectMissing);
    },
  );

  check('a deleted object is gone, the others stay', async (storage) => {
    const [id, other] = [await putBytes(storage, BYTES), await putBytes(storage, BYTES)];
    assert.equal(await storage.sizeOf(id), 10);
    await storage.delete(id);
    await assert.rejects(storage.open(id), ObjectMissing);
    assert.equal(await storage.sizeOf(id), undefined);
    assert.equal(await bytesOf(storage.open(other)), '0123456789');
    await storage.delete(id); // no error, also for one that never existed
    await storage.delete(newId('object'));
    assert.equal(await storage.sizeOf(newId('object')), undefined);
  });

  check('many objects can be put at the same time', async (storage) => {
    const texts = Array.from({ length: 20 }, (_, i) => `object ${i}`);
    const ids = await Promise.all(texts.map((text) => putBytes(storage, Buffer.from(text))));
    assert.deepEqual(await Promise.all(ids.map((id) => bytesOf(storage.open(id)))), texts);
  });

  test(`${name}: an object can be read by a storage that is opened later`, async () => {
    const id = await putBytes(await open(), BYTES);
    assert.equal(await bytesOf((await open()).open(id)), '0123456789');
  });

  check('to put a missing file fails and makes no object', async (storage) => {
    const id = newId('object');
    await assert.rejects(storage.put(id, '/nowhere/at/all'), { code: 'ENOENT' });
    await assert.rejects(storage.open(id), ObjectMissing);
    assert.equal(await storage.sizeOf(id), undefined);
  });

  check('a reader that stops early does not harm the object', async (storage) => {
    const id = await putBytes(storage, new Uint8Array(1_000_000));
    const stream = await storage.open(id);
    stream.destroy();
    assert.equal((await buffer(await storage.open(id))).length, 1_000_000);
  });
}
