import assert from 'node:assert/strict';
import { generateKeyPairSync, sign as signWith } from 'node:crypto';
import { readFile, truncate, writeFile } from 'node:fs/promises';
import { createServer, type ServerResponse } from 'node:http';
import path from 'node:path';
import { buffer } from 'node:stream/consumers';
import { after, test } from 'node:test';
import { closeServer, listenOn } from '../../../simulators/kit/http-server.ts';
import { longTest } from '../../test/long.ts';
import { makeLargeVideo, makeVideo } from '../../test/media/media-files.ts';
import { temporaryFolder } from '../../test/temporary-folder.ts';
import { openScratchDirectory } from '../kernel/scratch-directory.ts';
import { readCertificate } from './certificate.ts';
import { makeCertificate } from './make-certificate.ts';
import type { Origin } from './manifest.ts';
import { readCredentials } from './read-credentials.ts';
import { requireFit } from './require-fit.ts';
import { createSigner } from './signer.ts';
import { timeStamp } from './time-stamp.ts';

const { path: folder, ...temporary } = await temporaryFolder();
const scratch = openScratchDirectory(path.join(folder, 'scratch'));
const at = (name: string) => path.join(folder, name);
const NOW = new Date();
const FROM = new Date(NOW.getTime() - 86_400_000);
const UNTIL = new Date(NOW.getTime() + 86_400_000);
const MADE = makeCertificate(FROM, UNTIL);
let current = readCertificate(MADE, NOW);
const signer = createSigner({ scratch, certificate: () => current });
after(async () => {
  await signer.close();
  await temporary[Symbol.asyncDispose]();
});

const VIDEO = at('plain');
await makeVideo(VIDEO, { audio: 'with' });
const ORIGIN: Origin = {
  source: 'trainedAlgorithmicMedia',
  model: 'video-2.0',
  at: NOW.toISOString(),
  generator: 'Ada “Films”',
  version: '1.0.0',
  promptHash: null,
};

/** Signs a file as the output of one provider. */
function sign(file: string, signedPath: string, origin = ORIGIN) {
  return signer.sign({ path: file, signedPath, source: 'provider' }, origin);
}

test('a signed video says what made it, and reads as signed by this service only', async () => {
  const signing = await sign(VIDEO, at('signed'));
  assert.ok(signing.kind === 'signed' && signing.parent === 'none');
  const bytes = await readFile(at('signed'));
  assert.equal(bytes.length, signing.sizeBytes);
  assert.ok(!bytes.includes('prompt_sha256'));
  const { is_ours: isOurs, ...read } = (await readCredentials(at('signed'), [MADE.chain])) ?? {};
  assert.deepEqual(
    [isOurs, read],
    [
      true,
      {
        state: 'Trusted',
        problems: [],
        generator: ['Ada “Films” 1.0.0'],
        issuer: 'Framewright',
        action: 'c2pa.created',
        model: 'video-2.0',
        source: 'trainedAlgorithmicMedia',
        at: NOW.toISOString(),
      },
    ],
  );
  const others = await readCredentials(at('signed'), [makeCertificate(FROM, UNTIL).chain]);
  assert.deepEqual([others?.is_ours, others?.state], [false, 'Valid']);
  assert.equal(await readCredentials(VIDEO, [MADE.chain]), null);
});

test('the hash of the prompt is in the manifest only if it is given', async () => {
  await sign(VIDEO, at('with prompt'), { ...ORIGIN, promptHash: 'ab'.repeat(32) });
  assert.ok((await readFile(at('with prompt'))).includes('ab'.repeat(32)));
});

test("a provider's manifest is kept as the parent, and is said to be invalid if it is", async () => {
  await sign(VIDEO, at('delivered'), { ...ORIGIN, model: 'inner-model' });
  const bytes = await readFile(at('delivered'));
  const media = bytes.indexOf('mdat') + 1000;
  const manifest = bytes.indexOf('inner-model') - 100;
  const damaged = (from: number, length: number) => {
    const copy = Buffer.from(bytes);
    for (let i = from; i < from + length; i += 1) copy[i] = ~(copy[i] ?? 0);
    return copy;
  };
  const deliveries = {
    valid: bytes,
    'a changed picture': damaged(media, 1),
    'an unreadable manifest': damaged(manifest, 90),
  };
  for (const [name, delivered] of Object.entries(deliveries)) {
    await writeFile(at('delivery'), delivered);
    const signing = await sign(at('delivery'), at('signed'));
    const parent = name === 'valid' ? 'valid' : 'invalid';
    assert.deepEqual(signing.kind === 'signed' && signing.parent, parent, name);
    const read = await readCredentials(at('signed'), [MADE.chain]);
    assert.deepEqual([read?.is_ours, read?.action], [true, 'c2pa.opened'], name);
    const isKept = (await readFile(at('signed'))).includes('inner-model');
    assert.equal(isKept, name !== 'an unreadable manifest');
  }
});

test('a flipped bit of a signed video is found', async () => {
  await sign(VIDEO, at('signed'));
  const bytes = await readFile(at('signed'));
  const place = bytes.indexOf('mdat') + 1000;
  bytes[place] = (bytes[place] ?? 0) ^ 1;
  await writeFile(at('flipped'), bytes);
  const read = await readCredentials(at('flipped'), [MADE.chain]);
  assert.deepEqual([read?.is_ours, read?.state], [false, 'Invalid']);
  assert.ok(read?.problems.includes('assertion.bmffHash.mismatch'));
});

test('a file that can not carry credentials stays unsigned', async () => {
  await makeVideo(at('webm'), { format: 'webm', codec: 'vp9' });
  await writeFile(at('junk'), 'a video');
  for (const name of ['webm', 'junk']) {
    const signing = await sign(at(name), at('signed'));
    assert.equal(signing.kind === 'unsigned' && signing.why, 'unsupported', name);
  }
});

longTest(
  'a file with media of each kind of size is signed, and one with bytes after its end',
  async () => {
    await makeVideo(at('fast'), { formatOptions: { movflags: 'faststart' } });
    const bytes = await readFile(at('fast'));
    const place = bytes.indexOf('mdat') - 4;
    const withSize = (size: number, more = '') => {
      const head = Buffer.from(`\0\0\0${String.fromCharCode(size)}mdat${more}`, 'latin1');
      return Buffer.concat([bytes.subarray(0, place), head, bytes.subarray(place + 8)]);
    };
    const size64 = withSize(1, '\0'.repeat(8));
    size64.writeBigUInt64BE(BigInt(size64.length - place), place + 8);
    const files = {
      '64 bits': size64,
      'to the end': withSize(0),
      'bytes after': Buffer.concat([bytes, Buffer.from('after')]),
      'a box after': Buffer.concat([bytes, Buffer.from('\0\0\0\x0cwideabcd', 'latin1')]),
    };
    for (const [name, content] of Object.entries(files)) {
      await writeFile(at('odd'), content);
      await sign(at('odd'), at('signed'));
      assert.ok((await readCredentials(at('signed'), [MADE.chain]))?.is_ours, name);
    }
  },
);

longTest('media of any size is signed, but not a large index', async () => {
  await makeLargeVideo(at('large'), 300 * 2 ** 20);
  for (const [name, parent] of [
    ['large', 'none'],
    ['signed', 'valid'],
  ] as const) {
    const signing = await sign(at(name), at('signed'));
    assert.equal(signing.kind === 'signed' && signing.parent, parent, name);
    assert.ok((await readCredentials(at('signed'), [MADE.chain]))?.is_ours, name);
  }
  await writeFile(at('index'), await readFile(VIDEO));
  await truncate(at('index'), 300 * 2 ** 20);
  assert.deepEqual(await sign(at('index'), at('signed')), { kind: 'unsigned', why: 'too_large' });
});

longTest('keys of each kind sign', async () => {
  const keys = {
    es256: generateKeyPairSync('ec', { namedCurve: 'P-256' }),
    es384: generateKeyPairSync('ec', { namedCurve: 'P-384' }),
    ed25519: generateKeyPairSync('ed25519'),
    ps256: generateKeyPairSync('rsa', { modulusLength: 4096 }),
  };
  for (const [algorithm, pair] of Object.entries(keys)) {
    current = readCertificate(makeCertificate(FROM, UNTIL, pair), NOW);
    assert.equal(current.algorithm, algorithm);
    await requireFit(current, scratch, NOW.getTime());
    await sign(VIDEO, at('signed'));
    assert.equal((await readCredentials(at('signed'), []))?.state, 'Valid', algorithm);
  }
  current = readCertificate(MADE, NOW);
});

test('a certificate for TLS is refused, since readers refuse what it signs', async () => {
  const ofTls = (name: string) =>
    readFile(new URL(`../../test/tls/${name}`, import.meta.url), 'utf8');
  const [chain, privateKey] = await Promise.all([ofTls('server.crt'), ofTls('server.key')]);
  const ofServer = readCertificate({ chain, privateKey }, NOW);
  await assert.rejects(requireFit(ofServer, scratch, NOW.getTime()), {
    name: 'UsageError',
    message: /CONTENT_CREDENTIALS_CERT: readers refuse .* \(signingCredential\.invalid\)/,
  });
});

test('a service signs with a key that only it has, and a wrong signature is found', async (t) => {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-384' });
  const other = generateKeyPairSync('ec', { namedCurve: 'P-384' }).privateKey;
  const signature = (bytes: Buffer, key = privateKey) =>
    signWith('sha384', bytes, { key, dsaEncoding: 'ieee-p1363' });
  type Respond = (response: ServerResponse, bytes: Buffer) => unknown;
  const failures: Record<string, Respond> = {
    'another key': (response, bytes) => response.end(signature(bytes, other)),
    'other bytes': (response) => response.end(signature(Buffer.from('others'))),
    'DER, as of a KMS': (response, bytes) => response.end(signWith('sha384', bytes, privateKey)),
    'an error': (response, bytes) => response.writeHead(500).end(signature(bytes)),
    'a redirect': (response) => response.writeHead(307, { location: '/right' }).end(),
    nothing: (response) => response.end(),
    'too much': (response, bytes) => response.end(Buffer.concat([signature(bytes), MUCH])),
    'its end': (response) => response.destroy(),
  };
  const asked: unknown[] = [];
  let respond: Respond = (response, bytes) => response.end(signature(bytes));
  const right = respond;
  const server = createServer(async (request, response) => {
    const { method, headers, url } = request;
    asked.push([method, headers.authorization]);
    const bytes = await buffer(request);
    (url === '/right' ? right : respond)(response, bytes);
  });
  const url = await listenOn(server);
  t.after(() => closeServer(server));
  const { chain } = makeCertificate(FROM, UNTIL, { privateKey, publicKey });
  current = readCertificate({ chain, service: { url: `${url}/sign`, token: 'secret' } }, NOW);
  await requireFit(current, scratch, NOW.getTime());
  assert.deepEqual(asked, [], 'the service may be down at a start');
  assert.equal((await sign(VIDEO, at('signed'))).kind, 'signed');
  assert.ok((await readCredentials(at('signed'), [chain]))?.is_ours);
  assert.deepEqual(asked, [['POST', 'Bearer secret']]);
  for (const [title, failure] of Object.entries(failures)) {
    respond = failure;
    await assert.rejects(current.sign(Buffer.from('a claim')), /the signing service: /, title);
  }
  current = readCertificate(MADE, NOW);
});

const MUCH = Buffer.alloc(10_000);

test('a time stamping authority that fails leaves a signed video without a time stamp', async () => {
  const answers = [
    '',
    '\x30\x03\x02\x01\x02',
    '\x30\x05\x30\x03\x02\x01\x02',
    '\x30\x80\x00\x00',
    'no DER',
  ];
  const server = createServer((_request, response) => {
    response.end(Buffer.from(answers.pop() ?? '', 'latin1'));
  });
  const url = await listenOn(server);
  const stamp = (signed: Uint8Array) => timeStamp(url, signed);
  while (answers.length > 0) await assert.rejects(stamp(Buffer.from('signed')), /no time stamp/);
  const stamping = createSigner({ scratch, certificate: () => current, stamp });
  const file = { path: VIDEO, signedPath: at('signed'), source: 'provider' };
  const signing = await stamping.sign(file, ORIGIN);
  assert.deepEqual(signing.kind === 'signed' && signing.isStamped, false);
  assert.ok((await readCredentials(at('signed'), [MADE.chain]))?.is_ours);
  await stamping.close();
  await closeServer(server);
});

test('an authority that hangs holds up few videos', async (t) => {
  let seconds = 0;
  let asked = 0;
  t.mock.method(performance, 'now', () => seconds * 1000);
  const stamp = async () => {
    asked += 1;
    seconds += 10;
    throw new Error('no time stamp: timed out');
  };
  const stamping = createSigner({ scratch, certificate: () => current, stamp });
  for (const [pause, expected] of [
    [0, 1],
    [29, 1],
    [1, 2],
  ] as const) {
    seconds += pause;
    await stamping.sign({ path: VIDEO, signedPath: at('signed'), source: 'provider' }, ORIGIN);
    assert.equal(asked, expected);
  }
  await stamping.close();
});

test('an expired certificate signs nothing', async () => {
  const late = { ...ORIGIN, at: new Date(UNTIL.getTime() + 1000).toISOString() };
  await assert.rejects(sign(VIDEO, at('signed'), late), /has expired/);
});
