import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { type TestContext, test } from 'node:test';
import { openArchiveFixture } from '../../test/archive-fixture.ts';
import { freezeClock } from '../../test/frozen-clock.ts';
import { simulatedBucket } from '../../test/storage/simulated-bucket.ts';
import {
  claimTask,
  dueInSeconds,
  scriptedProvider,
  sql,
  submitDeps,
} from '../../test/task-fixtures.ts';
import { takeDown } from '../operator/verbs/objects.ts';
import type { Provider } from '../providers/provider.ts';
import { findSimilar } from '../storage/fingerprints.ts';
import { deleteMarked } from '../storage/objects.ts';
import { openS3Storage } from '../storage/s3/s3.ts';
import { ObjectMissing, type Storage } from '../storage/storage.ts';
import type { Credentials, Task } from '../tasks/task.ts';
import { postpone, Superseded } from '../tasks/transitions.ts';
import type { CredentialsDeps } from './add-credentials.ts';
import { archive } from './archive.ts';
import { recheck } from './generate.ts';

const { db, archiveDeps, makeArchivingTask } = await openArchiveFixture('audited');

/** A storage in which each `put` writes only once `count` have begun, and `then` has ended. */
function storingTogether(storage: Storage, count: number, then: () => Promise<void>): Storage {
  const all = Promise.withResolvers<void>();
  let begun = 0;
  return {
    ...storage,
    async put(id, filePath) {
      begun += 1;
      if (begun === count) all.resolve(then());
      await all.promise;
      await storage.put(id, filePath);
    },
  };
}

test('when another worker completes one of several tasks, the others still complete', async () => {
  const tasks = await Promise.all([makeArchivingTask(), makeArchivingTask(), makeArchivingTask()]);
  const taken = tasks[1]?.id ?? '';
  const others = archiveDeps();
  const deps = archiveDeps();
  deps.storage = storingTogether(deps.storage, tasks.length, async () => {
    await sql(db, 'update tasks set leased_until = null where id = $1', [taken]);
    await archive(others, await claimTask(db, taken));
    await deleteMarked({ db, storage: others.storage });
  });
  const archived = await Promise.allSettled(tasks.map((task) => archive(deps, task)));
  assert.deepEqual(
    archived.map((one) => (one.status === 'fulfilled' ? 'done' : one.reason.constructor)),
    ['done', Superseded, 'done'],
  );
  const objects = await Promise.all(tasks.map(statesOf));
  const states = objects.map((ofTask) => ofTask.map(({ state }) => state));
  assert.deepEqual(states, [['ready'], ['deleted', 'ready'], ['ready']]);
  const late = objects[1]?.[0]?.id ?? '';
  await assert.rejects(others.storage.open(late), ObjectMissing, 'written after its deletion');
});

test('an output that can not be stored fails its step, but only after its poster was stored', async () => {
  const deps = archiveDeps({ poster: Buffer.from('a poster') });
  const outputFailed = Promise.withResolvers<void>();
  let posterStored = false;
  const storage: Storage = {
    ...deps.storage,
    async put(id, filePath) {
      if (filePath.endsWith('output')) {
        setImmediate(outputFailed.resolve);
        throw new Error('the disk is full');
      }
      await outputFailed.promise;
      await deps.storage.put(id, filePath);
      posterStored = true;
    },
  };
  const task = await makeArchivingTask();
  await assert.rejects(archive({ ...deps, storage }, task), /the disk is full/);
  assert.ok(posterStored);
  const left = (await statesOf(task)).map(({ state, mediaType }) => `${state} ${mediaType}`);
  assert.deepEqual(left.sort(), ['deleting image/webp', 'deleting video/mp4']);
});

/** A bucket on a simulated S3 server, which closes with the test. */
async function bucketStorage(t: TestContext): Promise<Storage> {
  const { s3, settings, credentials } = await simulatedBucket();
  t.after(() => s3[Symbol.asyncDispose]());
  return openS3Storage({ settings, credentials });
}

/**
 * A storage whose puts do not end, as in a process that dies; `then` gets the stored object's id.
 */
function dyingAfterPut(storage: Storage, then: (id: string) => void): Storage {
  return {
    ...storage,
    async put(id, filePath) {
      await storage.put(id, filePath);
      then(id);
      await new Promise(() => {});
    },
  };
}

async function statesOf(task: Task) {
  const rows = await sql<{ id: string; state: string; media_type: string }>(
    db,
    'select id, state, media_type from stored_objects where owner_id = $1 order by created_at',
    [task.id],
  );
  return rows.map(({ id, state, media_type }) => ({ id, state, mediaType: media_type }));
}

test('what a process stored in a bucket before it died is deleted by the next run', async (t) => {
  const { promise: stored, resolve } = Promise.withResolvers<string>();
  const bucket = await bucketStorage(t);
  const task = await makeArchivingTask();
  void archive(archiveDeps({ storage: dyingAfterPut(bucket, resolve) }), task);
  const left = await stored;
  await sql(db, 'update tasks set leased_until = null where id = $1', [task.id]);
  await archive(archiveDeps({ storage: bucket }), await claimTask(db, task.id));
  const states = await statesOf(task);
  const names = states.map(({ state }) => state);
  assert.deepEqual(names, ['deleting', 'ready']);
  assert.equal(states[0]?.id, left);
  await deleteMarked({ db, storage: bucket });
  assert.equal(await bucket.sizeOf(left), undefined);
});

/** A signer that adds some bytes to each video, or fails in one of the ways that a signer can. */
function signerWhich(does: 'signs' | 'refuses' | 'fails'): CredentialsDeps {
  return {
    namesPrompt: false,
    namesInputs: false,
    onFailure: 'wait',
    signer: {
      prepare() {},
      async sign(file) {
        if (does === 'fails') throw new Error('no child could be started');
        if (does === 'refuses') return { kind: 'unsigned', why: 'too_large' };
        const bytes = Buffer.concat([await readFile(file.path), Buffer.from(', signed')]);
        await writeFile(file.signedPath, bytes);
        const sha256 = hash('sha256', bytes);
        return {
          kind: 'signed',
          sizeBytes: bytes.length,
          sha256,
          parent: 'none',
          isStamped: false,
        };
      },
    },
  };
}

async function storedOf({ id }: Task) {
  const [row] = await sql<{ phase: string; bytes: string; credentials: Credentials | null }>(
    db,
    `select phase, output_facts->'credentials' as credentials, size_bytes || ' ' || sha256 as bytes
     from tasks left join stored_objects o on o.id = output_object_id where tasks.id = $1`,
    [id],
  );
  return row;
}

const bytesOf = (text: string) => `${text.length} ${hash('sha256', text)}`;

test('size and digest are those of the signed file, which is the one that is stored', async () => {
  const deps = archiveDeps({ credentials: signerWhich('signs') });
  const task = await makeArchivingTask();
  await archive(deps, task);
  const stored = await storedOf(task);
  assert.deepEqual([stored?.phase, stored?.bytes], ['completed', bytesOf('a video, signed')]);
  assert.ok(stored?.credentials?.kind === 'signed' && stored.credentials.isModel);
  const [object] = await statesOf(task);
  const bytes = await text(await deps.storage.open(object?.id ?? ''));
  assert.equal(bytes, 'a video, signed');
});

test('hashes of frames are stored with an output, but not those of patterns', async () => {
  const hashes = ['ab'.repeat(32), 'cd'.repeat(32)];
  for (const drawsPatterns of [false, true]) {
    await sql(db, 'delete from frame_hashes');
    const { outputMeasurer, providerOf, ...deps } = archiveDeps();
    const task = await makeArchivingTask();
    const provider = providerOf(task);
    const capabilities = { ...provider.capabilities, drawsPatterns };
    await archive(
      {
        ...deps,
        providerOf: () => ({ ...provider, capabilities }),
        outputMeasurer: {
          async measure(file, kind, options) {
            const measured = await outputMeasurer.measure(file, kind, options);
            return options?.hashUse ? { ...measured, hashes } : measured;
          },
        },
      },
      task,
    );
    const similar = await findSimilar(db, hashes.slice(1));
    assert.equal(similar?.task_id, drawsPatterns ? undefined : task.id);
  }
});

test('a poster is signed if its video is, and stored in any case', async () => {
  const signing = signerWhich('signs');
  const videosOnly: CredentialsDeps['signer'] = {
    ...signing.signer,
    async sign(file, origin) {
      if (file.format === 'image/webp') throw new Error('no child could be started');
      return signing.signer.sign(file, origin);
    },
  };
  for (const [credentials, expected] of [
    [signing, 'a poster, signed'],
    [signerWhich('refuses'), 'a poster'],
    [{ ...signing, signer: videosOnly }, 'a poster'],
  ] as const) {
    const deps = archiveDeps({ credentials, poster: Buffer.from('a poster') });
    const task = await makeArchivingTask();
    await archive(deps, task);
    const poster = (await statesOf(task)).find(({ mediaType }) => mediaType === 'image/webp');
    assert.equal(await text(await deps.storage.open(poster?.id ?? '')), expected);
    assert.equal(await deps.storage.sizeOf(poster?.id ?? ''), expected.length);
  }
});

test('what can not be signed is stored as it is, with a mark', async () => {
  for (const [credentials, why] of [
    [undefined, 'off'],
    [signerWhich('refuses'), 'too_large'],
  ] as const) {
    const task = await makeArchivingTask();
    await archive(archiveDeps({ credentials }), task);
    const mark = { kind: 'unsigned', why } as const;
    const bytes = bytesOf('a video');
    assert.deepEqual(await storedOf(task), { phase: 'completed', bytes, credentials: mark });
  }
});

test('a failing signer is tried again; then the task waits or, by a setting, its video is stored unsigned', async () => {
  const failing = signerWhich('fails');
  const task = await makeArchivingTask();
  await assert.rejects(archive(archiveDeps({ credentials: failing }), task), /no child/);
  const late = { ...task, phase_seconds: 301 };
  await archive(archiveDeps({ credentials: failing }), late);
  assert.equal((await storedOf(task))?.phase, 'held');
  const other = await makeArchivingTask();
  const credentials = { ...failing, onFailure: 'unsigned' } as const;
  await archive(archiveDeps({ credentials }), { ...other, phase_seconds: 301 });
  const mark = { kind: 'unsigned', why: 'failed' } as const;
  const bytes = bytesOf('a video');
  assert.deepEqual(await storedOf(other), { phase: 'completed', bytes, credentials: mark });
});

test('bytes that an operator took down are not stored again, except if the provider repeats its outputs', async () => {
  const bytes = Buffer.from('a banned video');
  const credentials = signerWhich('signs');
  const deps = archiveDeps({ bytes, credentials });
  const first = await makeArchivingTask();
  await archive(deps, first);
  await takeDown(db, { command: 'objects takedown', actor: 'ada', reason: 'ticket 98' }, first.id);
  const repeating = scriptedProvider({ openOutput: async () => Readable.from([bytes]) });
  Object.assign(repeating.capabilities, { repeatsOutputs: true });
  for (const [title, given, phase] of [
    ['as the provider sent them', deps, 'failed'],
    [
      'as they were stored',
      archiveDeps({ bytes: Buffer.from('a banned video, signed') }),
      'failed',
    ],
    ['of a test', { ...deps, providerOf: () => repeating }, 'completed'],
    ['others', archiveDeps({ credentials }), 'completed'],
  ] as const) {
    const task = await makeArchivingTask();
    await archive(given, task);
    assert.equal((await storedOf(task))?.phase, phase, title);
    const states = (await statesOf(task)).map(({ state }) => state);
    assert.deepEqual(states, [phase === 'failed' ? 'deleting' : 'ready'], title);
    if (phase === 'completed') continue;
    const query = 'select error_code, provider_billed from tasks where id = $1';
    const [failed] = await sql(db, query, [task.id]);
    assert.deepEqual(failed, { error_code: 'content_refused', provider_billed: true }, title);
  }
});

/** Runs each step when it is due, until the video is stored. */
async function runUntilStored(provider: Provider): Promise<Task> {
  const polling = { pollMinSeconds: 1, pollMaxSeconds: 1 };
  const deps = { ...submitDeps({ db }, provider), ...polling };
  const archiving = archiveDeps({ credentials: signerWhich('fails'), providerOf: () => provider });
  let seconds = 0;
  await freezeClock(db, seconds);
  let task = await makeArchivingTask();
  while (task.phase !== 'completed') {
    assert.ok(seconds < 86_400, 'the video is lost');
    const step = task.phase === 'held' ? recheck(deps, task) : archive(archiving, task);
    const retry = { seconds: 60, internalFailures: 1 } as const; // the longest pause
    const next = await step.catch(() => postpone(db, task, retry));
    if (next !== 'postponed') {
      task = next;
      continue;
    }
    seconds += Math.ceil(await dueInSeconds(db, task.id));
    await freezeClock(db, seconds);
    task = await claimTask(db, task.id);
  }
  return task;
}

test('if signing keeps failing, the video is stored unsigned while the provider still has it', async () => {
  for (const [lifeSeconds, isHeld] of [
    [0, false], // the provider does not say how long
    [600, false],
    [3600, true],
    [86_400, true],
  ] as const) {
    const provider = scriptedProvider({
      openOutput: async () => Readable.from([Buffer.from('a video')]),
      read: async () => ({ kind: 'succeeded', output: {} }),
    });
    provider.capabilities.outputLifeSeconds = lifeSeconds;
    const task = await runUntilStored(provider);
    const title = `kept for ${lifeSeconds} s, stored after ${task.accepted_seconds} s`;
    assert.ok((task.accepted_seconds ?? 0) <= lifeSeconds / 2 + 60, title);
    assert.equal(task.outcome_holds > 0, isHeld, title);
    const credentials = { kind: 'unsigned', why: 'failed' } as const;
    const expected = { phase: 'completed', bytes: bytesOf('a video'), credentials } as const;
    assert.deepEqual(await storedOf(task), expected, title);
  }
});
