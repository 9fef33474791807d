import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { after, test } from 'node:test';
import {
  openVirtualEnvironment,
  withoutPython,
} from '../../../clients/python/test/virtual-environment.ts';
import { frameSize } from '../../src/catalog/frame-size.ts';
import { RESOLUTIONS } from '../../src/catalog/models.ts';
import { certificatesIn } from '../../src/credentials/certificate.ts';
import { allCertificates, openCertificate } from '../../src/credentials/certificates.ts';
import type { Origin } from '../../src/credentials/manifest.ts';
import { createSigner } from '../../src/credentials/signer.ts';
import { timeStamp } from '../../src/credentials/time-stamp.ts';
import { openScratchDirectory } from '../../src/kernel/scratch-directory.ts';
import { VERIFY } from '../../src/operator/verbs/verify.ts';
import { quiet } from '../database.ts';
import { longTest } from '../long.ts';
import { openTestFolder } from '../temporary-folder.ts';
import { until } from '../until.ts';
import { decodeByHand } from './decode-by-hand.ts';
import { makeLargeVideo, makeVideo, type TestVideo } from './media-files.ts';
import { imageBytes, openMediaFixture, videoBytes } from './media-fixture.ts';
import { FRAMES, REFERENCES } from './refused-media.ts';
import { startTimeStamps, withoutOpenssl } from './time-stamps.ts';

const fixture = await openMediaFixture({
  environment: { CONTENT_CREDENTIALS: 'on', CONTENT_CREDENTIALS_INGREDIENTS: 'yes' },
});
const folder = await openTestFolder();
after(() => fixture.close());
const fileOf = (name: string) => path.join(folder.path, name);

/** Makes a video and downloads it, as a client does. */
async function download(name: string, body: object) {
  const customer = await fixture.customer(1000);
  const { body: accepted } = await customer.create(body);
  const shown = await fixture.settled(accepted.id);
  const { body: task } = await customer.task(accepted.id);
  const bytes = Buffer.from(await (await fetch(task.output.video_url)).arrayBuffer());
  await writeFile(fileOf(name), bytes);
  return { id: task.id, bytes, facts: shown.output_facts };
}

function withFlippedBit(bytes: Buffer): Buffer {
  const copy = Buffer.from(bytes);
  const place = copy.indexOf('mdat') + 1000;
  copy.writeUInt8(copy.readUInt8(place) ^ 1, place);
  return copy;
}

function verify(name: string) {
  const page = { limit: 1, after: undefined };
  const work = VERIFY.verify.prepare({ file: fileOf(name) });
  return work({ db: fixture.db, log: quiet, page }, { command: '', actor: '', reason: null });
}

test('a delivered video is known by its digest, and without it by its signature', async () => {
  const { id, bytes, facts } = await download('video', { ...FRAMES, mode: 'text-to-video' });
  const { at } = facts.credentials;
  const signed = { kind: 'signed', isModel: false, at, parent: 'none' };
  assert.deepEqual(facts.credentials, signed, 'the local renderer is no model');
  const found = await verify('video');
  const sha256 = createHash('sha256').update(bytes).digest('hex');
  assert.deepEqual([found.ok, found.sha256, found.stored?.task_id], [true, sha256, id]);
  const longer = Buffer.concat([bytes, Buffer.from('\0\0\0\x08free', 'latin1')]);
  await writeFile(fileOf('longer'), longer);
  const { ok, stored, credentials } = await verify('longer');
  assert.deepEqual([ok, stored], [true, null], 'a box for padding changes the digest only');
  assert.ok(credentials && 'source' in credentials);
  assert.deepEqual([credentials.is_ours, credentials.source], [true, 'algorithmicMedia']);
  await writeFile(fileOf('changed'), withFlippedBit(bytes));
  const changed = await verify('changed');
  assert.deepEqual([changed.ok, changed.stored], [false, null]);
  await writeFile(fileOf('other'), 'not a video');
  const other = await verify('other');
  assert.deepEqual([other.credentials, other.similar], [null, { unreadable: 'refused' }]);
});

test('the files of a request are ingredients by their digests, without their names', async () => {
  const png = await imageBytes('png', 300, 300);
  const image_url = fixture.host.serve('/a-named-picture', { kind: 'bytes', bytes: png });
  const { bytes } = await download('from a picture', { ...FRAMES, image_url });
  const sha256 = createHash('sha256').update(png).digest('hex');
  for (const part of [`sha256:${sha256}`, 'inputTo', 'first frame'])
    assert.ok(bytes.includes(part));
  assert.ok(!bytes.includes('a-named-picture'));
});

/** Kills one process that signs for this one, if there is one (Linux). */
async function killSigner(): Promise<boolean> {
  const text = await readFile(`/proc/self/task/${process.pid}/children`, 'utf8');
  for (const pid of text.split(' ').filter(Boolean)) {
    const command = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '');
    if (command.includes('sign-file')) return process.kill(Number(pid), 'SIGKILL');
  }
  return false;
}

longTest(
  'signing processes that are killed at any moment delay videos, and lose none',
  async () => {
    const customer = await fixture.customer(1000);
    const created = Array.from({ length: 5 }, () =>
      customer.create({ ...FRAMES, mode: 'text-to-video' }),
    );
    let kills = 0;
    await until(
      async () => {
        if (await killSigner()) kills += 1;
        return kills;
      },
      (count) => count >= 10,
    );
    for (const { body } of await Promise.all(created)) {
      const shown = await fixture.settled(body.id);
      assert.deepEqual([shown.phase, shown.output_facts.credentials.kind], ['completed', 'signed']);
      const outputs = shown.objects.filter(
        ({ role, state }) => role === 'output' && state === 'ready',
      );
      assert.equal(outputs.length, 1);
    }
  },
);

/** What the reader of another project (c2pa-python) says of files, with and without this root. */
const READER = `
import c2pa, json, sys
root, *files = sys.argv[1:]
trust = c2pa.Settings.from_json(json.dumps({"trust": {"user_anchors": open(root).read()}}))
for context in (None, c2pa.Context(trust)):
    for file in files:
        kind = "image/webp" if file.endswith("webp") else "video/mp4"
        with open(file, "rb") as stream:
            report = json.loads(c2pa.Reader(kind, stream, context=context).json())
        active = report["manifests"][report["active_manifest"]]
        actions = next(a["data"]["actions"] for a in active["assertions"] if "actions" in a["label"])
        used = [i["relationship"] for i in active.get("ingredients", [])]
        stamps = [s["code"] for s in report["validation_results"]["activeManifest"]["success"]]
        stamp = "timeStamp.validated" in stamps
        print(report["validation_state"], actions[0]["action"], used, stamp)
`;

/** Containers and codecs that providers deliver, and each size. */
const DELIVERIES: TestVideo[] = [
  ...RESOLUTIONS.map((resolution) => ({ ...frameSize(resolution, '16:9'), seconds: 0.5 })),
  { audio: 'with', formatOptions: { movflags: 'faststart' } },
  { audio: 'with', formatOptions: { movflags: 'frag_keyframe+empty_moov' } },
  { codec: 'hevc' },
  { codec: 'av1' },
  { codec: 'vp9' },
  { format: 'mov' },
];

test('an independent reader finds every signed video valid, and trusted by its root', {
  skip: withoutPython || withoutOpenssl,
}, async () => {
  const picture = fixture.host.serve('/picture', {
    kind: 'bytes',
    bytes: await imageBytes('png', 300, 300),
  });
  const clip = fixture.host.serve('/clip', {
    kind: 'bytes',
    bytes: await videoBytes({ width: 720, height: 480, seconds: 2 }),
  });
  await download('text', { ...FRAMES, mode: 'text-to-video' });
  await download('image', { ...FRAMES, image_url: picture });
  const references = {
    reference_image_urls: [picture],
    reference_video_urls: [clip],
    reference_video_durations: [2],
  };
  await download('media', { ...REFERENCES, ...references });
  const { db } = fixture;
  const certificate = await openCertificate({ db, given: undefined, now: () => Date.now() });
  const scratch = openScratchDirectory(fileOf('scratch'));
  await using authority = await startTimeStamps(folder.path);
  const stamp = (signed: Uint8Array) => timeStamp(authority.url, signed);
  const signer = createSigner({ scratch, certificate: certificate.current, stamp });
  const at = new Date().toISOString();
  const origin = { source: 'trainedAlgorithmicMedia', model: 'm', at, version: '1' } as const;
  const input = { role: 'last_frame', mediaType: 'image/png', sha256: 'ab'.repeat(32) };
  const sign = async (from: string, to: string, inputs: Origin['inputs'] = []) => {
    const file = { path: fileOf(from), signedPath: fileOf(to), source: 'x' };
    const signing = await signer.sign(file, { ...origin, promptHash: null, inputs });
    assert.equal(signing.kind, 'signed', from);
  };
  const names = ['text', 'image', 'media', 'signed-large'];
  for (const [i, video] of DELIVERIES.entries()) {
    await makeVideo(fileOf(`plain-${i}`), video);
    await sign(`plain-${i}`, `signed-${i}`);
    await decodeByHand(fileOf(`signed-${i}`));
    names.push(`signed-${i}`);
  }
  await sign('signed-0', 'signed-twice', [input]);
  await makeLargeVideo(fileOf('large'), 300 * 2 ** 20);
  await sign('large', 'signed-large');
  await writeFile(fileOf('poster'), await imageBytes('webp', 320, 180));
  const poster = { path: fileOf('poster'), signedPath: fileOf('signed.webp'), source: 'x' };
  await signer.sign({ ...poster, format: 'image/webp' }, { ...origin, promptHash: null });
  await writeFile(fileOf('flipped'), withFlippedBit(await readFile(fileOf('signed-0'))));
  await signer.close();
  const [{ chain = '' } = {}] = await allCertificates(db);
  await writeFile(fileOf('root.pem'), String(certificatesIn(chain)[1]));
  await using python = await openVirtualEnvironment(['c2pa-python==0.38.1']);
  const files = ['signed.webp', ...names, 'signed-twice', 'flipped'];
  const report = await python.run('python', ['-c', READER, ...['root.pem', ...files].map(fileOf)]);
  const said = (state: string) => [
    `${state} c2pa.created [] False`,
    `${state} c2pa.created [] False`,
    `${state} c2pa.created ['inputTo'] False`,
    `${state} c2pa.created ['inputTo', 'inputTo'] False`,
    ...['large', ...DELIVERIES].map(() => `${state} c2pa.created [] True`),
    `${state} c2pa.opened ['parentOf', 'inputTo'] True`,
    'Invalid c2pa.created [] True',
  ];
  assert.deepEqual(report.trim().split('\n'), [...said('Valid'), ...said('Trusted')]);
});
