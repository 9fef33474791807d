import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { createTestDatabase, quiet } from '../../../test/database.ts';
import { findJobInput, newJobSpec, sendNow } from '../../../test/providers/conformance/attempts.ts';
import { failed, says, succeeded, working } from '../../../test/providers/conformance/meanings.ts';
import type { SimulatorControl } from '../../../test/providers/conformance/subject.ts';
import { providerConformance } from '../../../test/providers/conformance.ts';
import { sql } from '../../../test/task-fixtures.ts';
import { until } from '../../../test/until.ts';
import { openDatabase } from '../../database/database.ts';
import { openScratchDirectory } from '../../kernel/scratch-directory.ts';
import { diskStorage } from '../../storage/disk.ts';
import { type Adapter, OutputGone } from '../provider.ts';
import { RENDER_GONE, readJob } from './jobs.ts';
import { createLocalProvider, type LocalProviderDeps } from './local.ts';
import { createScriptedProvider } from './scripted.ts';

type Deps = LocalProviderDeps & { now(): number };

/** A provider with its own database and folder; `finish` makes one of its jobs end. */
async function start(
  create: (deps: Deps) => Adapter,
  finish: (deps: Deps, jobId: string) => Promise<unknown>,
) {
  const folder = await mkdtemp(path.join(tmpdir(), 'local-'));
  const database = await createTestDatabase();
  const own = openDatabase({ url: database.url, connections: 2, log: quiet });
  const deps = {
    db: database.db,
    storage: diskStorage(path.join(folder, 'objects')),
    scratch: openScratchDirectory(path.join(folder, 'scratch')),
    log: quiet,
    now: Date.now,
  };
  let isOpen = true;
  const kill = async () => {
    if (isOpen) await own.close();
    isOpen = false;
  };
  return {
    provider: create({ ...deps, db: own }),
    simulator: controlOf(deps, kill, (jobId) => finish(deps, jobId)),
    async close() {
      await kill();
      await database.close();
      await rm(folder, { recursive: true });
    },
  };
}

/** The only record of submits is the row of each accepted job. */
function controlOf(
  { db }: Deps,
  kill: () => Promise<void>,
  finish: (jobId: string) => Promise<unknown>,
) {
  const jobs = () =>
    sql<{ id: string; prompt: string }>(
      db,
      `select id, spec->>'prompt' as prompt from local_jobs where state <> 'barred'`,
    );
  const control: SimulatorControl = {
    jobs,
    kill,
    requests: async () => (await jobs()).map(() => ({ call: 'submit' })),
    async changeJob(id, { state, ends_in = 0, object_id = null, cause = null }) {
      const update = `update local_jobs set state = $2, object_id = $3, cause = $4,
          ends_at = clock_now() + $5::float8 * interval '1 second' where id = $1`;
      await sql(db, update, [id, state, object_id, cause, ends_in]);
    },
    async plan() {
      throw new Error('a built-in provider has no faults to plan');
    },
    clearPlans: async () => {},
    finish: async (jobId) => void (await finish(jobId)),
  };
  /** How long a job of a test key works. */
  const secondsOf = async (jobId: string) => {
    const select = `select extract(epoch from ends_at - created_at)::float8 as seconds
      from local_jobs where id = $1`;
    const [job] = await sql<{ seconds: number }>(db, select, [jobId]);
    return job?.seconds ?? Number.NaN;
  };
  return { ...control, secondsOf };
}

/**
 * Renders one job, as any process may. The other jobs get a lease without end, so they are not
 * rendered.
 */
async function renderAlone(deps: Deps, jobId: string): Promise<void> {
  const update = `update local_jobs set state = 'rendering', leased_until = 'infinity'
    where state = 'queued' and id <> $1`;
  await sql(deps.db, update, [jobId]);
  const renderer = createLocalProvider(deps);
  renderer.start?.();
  try {
    await until(
      async () => (await readJob(deps.db, jobId))?.state,
      (state) => state !== 'queued' && state !== 'rendering',
    );
  } finally {
    await renderer.stop?.();
  }
}

const startLocal = () => start(createLocalProvider, renderAlone);
const startScripted = () =>
  start(createScriptedProvider, ({ db }, jobId) =>
    sql(db, 'update local_jobs set ends_at = clock_now() where id = $1', [jobId]),
  );

const COMMON = {
  transport: 'none' as const,
  unmarked: {},
  refusals: [],
  find: 'exact' as const,
  absence: 'final' as const,
  callbacks: 'none' as const,
  takesAnyModel: true as const,
};
const BARRED = says('barred', { state: 'barred' }, { kind: 'missing' });

providerConformance({
  ...COMMON,
  name: 'local',
  start: startLocal,
  statuses: [
    says('queued', { state: 'queued' }, working),
    says('rendering', { state: 'rendering' }, working),
    says('succeeded', { state: 'succeeded' }, succeeded),
    says(
      'failed',
      { state: 'failed', cause: 'the renderer crashed' },
      failed('provider_failed', false),
    ),
    says(
      'failed because its render was deleted',
      { state: 'failed', cause: RENDER_GONE },
      failed('generation_expired', false),
    ),
    BARRED,
  ],
});

providerConformance({
  ...COMMON,
  name: 'scripted',
  start: startScripted,
  statuses: [
    says('to succeed', { state: 'succeeded', ends_in: 5 }, working),
    says('to fail', { state: 'failed', ends_in: 5 }, working),
    says('succeeded', { state: 'succeeded' }, succeeded),
    says('failed', { state: 'failed' }, failed('provider_failed', false)),
    says('cancelled', { state: 'failed', cause: 'cancelled' }, failed('provider_failed', false)),
    BARRED,
  ],
});

test('a render that was deleted before it was copied is gone, and its job fails', async (t) => {
  const { provider, simulator, close } = await startLocal();
  t.after(close);
  const submitted = await provider.submit(newJobSpec(), sendNow);
  assert.ok(submitted.kind === 'accepted');
  const { jobId } = submitted;
  await simulator.changeJob(jobId, { state: 'succeeded', object_id: 'deleted.mp4' });
  const status = await provider.read(jobId);
  assert.ok(status.kind === 'succeeded');
  await assert.rejects(async () => provider.openOutput(status.output), OutputGone);
  const after = await provider.read(jobId);
  assert.ok(after.kind === 'failed' && after.code === 'generation_expired');
});

test('submit and find agree, whichever comes first', async (t) => {
  const { provider, close } = await startLocal();
  t.after(close);
  for (let round = 0; round < 10; round += 1) {
    const jobSpec = newJobSpec();
    const [outcome, found] = await Promise.all([
      provider.submit(jobSpec, sendNow),
      provider.find(findJobInput(jobSpec, 0)),
    ]);
    assert.equal(outcome.kind === 'accepted', found.kind === 'found');
  }
});

test('a job of a test key works for two seconds, one with test-slow for thirty', async (t) => {
  const { provider, simulator, close } = await startScripted();
  t.after(close);
  for (const [word, seconds, end] of [
    ['test-drive', 2, 'succeeded'],
    ['test-failed', 2, 'failed'],
    ['test-slow', 30, 'succeeded'],
  ] as const) {
    const jobSpec = newJobSpec({ prompt: `A boat, ${word}` });
    await provider.submit(jobSpec, sendNow);
    assert.equal((await provider.read(jobSpec.attemptId)).kind, 'working');
    const lasts = await simulator.secondsOf(jobSpec.attemptId);
    assert.ok(Math.abs(lasts - seconds) < 0.1, `${word}: ${lasts} s`);
    await simulator.finish?.(jobSpec.attemptId);
    assert.equal((await provider.read(jobSpec.attemptId)).kind, end);
  }
});

test('an unknown acceptance is decided after ten seconds, for good', async (t) => {
  const { provider, close } = await startScripted();
  t.after(close);
  for (const [word, after] of [
    ['test-held-accepted', 'found'],
    ['test-held-refused', 'final'],
  ] as const) {
    const jobSpec = newJobSpec({ prompt: `A boat, ${word}` });
    const sentAt = Date.now();
    await provider.submit(jobSpec, sendNow);
    const early = await provider.find(findJobInput(jobSpec, sentAt));
    assert.deepEqual(early, { kind: 'absent', proof: 'weak' });
    const late = await provider.find(findJobInput(jobSpec, sentAt - 11_000));
    assert.equal(late.kind === 'absent' ? late.proof : late.kind, after);
  }
});

test('each aspect ratio has a video', async (t) => {
  const { provider, close } = await startScripted();
  t.after(close);
  for (const ratio of ['1:1', '21:9', '4:3', '3:4', '16:9', '9:16']) {
    let bytes = 0;
    for await (const part of await provider.openOutput({ aspect_ratio: ratio })) {
      bytes += part.length;
    }
    assert.ok(bytes > 1000 && bytes < 32_768, `${ratio}: ${bytes} bytes`);
  }
});
