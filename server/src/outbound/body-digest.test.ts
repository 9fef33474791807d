import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import { crc32, gzipSync } from 'node:zlib';
import { bytesFrom, openDownloads } from '../../test/media/downloads.ts';

const BYTES = Buffer.alloc(300_000, 'a video');
let downloads = 0;
const { host, open } = await openDownloads();
const guardedFetch = open();

/** Downloads the bytes with these headers. @returns whether the body was accepted as whole */
async function isAccepted(headers: Record<string, string>, bytes = BYTES, comparesDigest = true) {
  downloads += 1;
  const url = host.serve(`/${downloads}`, { kind: 'bytes', bytes, headers });
  try {
    const received = await bytesFrom(guardedFetch, url, { comparesDigest });
    assert.equal(received.length, BYTES.length);
    return true;
  } catch (error) {
    assert.match(String(error), /not the file whose (sha-|md5|crc32)/);
    assert.equal(Object(error).reason, 'not_reachable');
    return false;
  }
}

function base64(algorithm: string, bytes: Uint8Array): string {
  return createHash(algorithm).update(bytes).digest('base64');
}

function crc32Of(bytes: Uint8Array): string {
  const value = Buffer.alloc(4);
  value.writeUInt32BE(crc32(bytes));
  return value.toString('base64');
}

const HEADERS: Array<(bytes: Uint8Array) => Record<string, string>> = [
  (bytes) => ({ 'content-md5': base64('md5', bytes) }),
  (bytes) => ({ 'repr-digest': `sha-256=:${base64('sha256', bytes)}:` }),
  (bytes) => ({ 'content-digest': `unixsum=:AAA=:, sha-512=:${base64('sha512', bytes)}:;q=1` }),
  (bytes) => ({ digest: `unixsum=30637, SHA-256=${base64('sha256', bytes)}` }),
  (bytes) => ({ 'x-goog-hash': `crc32c=n03x6A==,md5=${base64('md5', bytes)}` }),
  (bytes) => ({ 'x-amz-checksum-sha256': base64('sha256', bytes) }),
  (bytes) => ({
    'x-amz-checksum-crc32': crc32Of(bytes),
    'x-amz-checksum-type': 'FULL_OBJECT',
    'content-encoding': 'identity',
  }),
];

test('a body is accepted with the digest of its bytes, and not with that of other bytes', async () => {
  const other = Buffer.concat([BYTES.subarray(1), Buffer.from('x')]);
  for (const headers of HEADERS) {
    const [name = ''] = Object.keys(headers(BYTES));
    assert.equal(await isAccepted(headers(BYTES)), true, name);
    assert.equal(await isAccepted(headers(other)), false, name);
    assert.equal(await isAccepted(headers(other), BYTES, false), true, 'not compared');
  }
});

test('a header that gives no digest of this body is ignored', async () => {
  const md5 = base64('md5', Buffer.from('other'));
  const sha256 = base64('sha256', Buffer.from('other'));
  const ignored: Array<Record<string, string>> = [
    { 'repr-digest': `sha-3=:${sha256}:` },
    { 'repr-digest': `sha-256=${sha256}` },
    { 'repr-digest': 'sha-256=:not base64!:' },
    { 'content-digest': 'sha-256=:AAAA:' },
    { 'content-digest': '=::,;' },
    { digest: 'md5' },
    { 'content-md5': md5.slice(2) },
    { 'content-md5': createHash('md5').update('other').digest('hex') },
    { etag: `"${createHash('md5').update('other').digest('hex')}-2"` },
    { 'x-amz-checksum-sha256': `${sha256}-3` },
    { 'x-amz-checksum-sha256': sha256, 'x-amz-checksum-type': 'COMPOSITE' },
    { 'x-amz-checksum-crc64nvme': 'AAAAAAAAAAA=' },
    { 'x-goog-hash': `md5=${md5}`, 'x-goog-stored-content-encoding': 'gzip' },
    { 'x-goog-hash': 'crc32c=n03x6A==' },
  ];
  for (const headers of ignored) {
    assert.equal(await isAccepted(headers), true, JSON.stringify(headers));
  }
});

test('the digest of an encoded body is not compared with the decoded one', async () => {
  const sent = gzipSync(BYTES);
  const headers = { 'content-encoding': 'gzip', 'content-md5': base64('md5', sent) };
  assert.equal(await isAccepted(headers, sent), true);
});

test('of several digests, the preferred one counts', async () => {
  const wrong = { 'content-md5': base64('md5', Buffer.from('other')) };
  const right = { 'repr-digest': `sha-256=:${base64('sha256', BYTES)}:` };
  assert.equal(await isAccepted({ ...wrong, ...right }), true);
});
