import assert from 'node:assert/strict';
import { mkdtemp, open, rename, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { createTestDatabase, quiet } from '../../../test/database.ts';
import { eventually, newJobSpec, sendNow } from '../../../test/providers/conformance/attempts.ts';
import { failed, succeeded, working } from '../../../test/providers/conformance/meanings.ts';
import type { SimulatorControl } from '../../../test/providers/conformance/subject.ts';
import { providerConformance } from '../../../test/providers/conformance.ts';
import { type Database, openDatabase, statement } from '../../database/database.ts';
import { openScratchDirectory } from '../../kernel/scratch-directory.ts';
import { OutputGone } from '../provider.ts';
import { RENDER_GONE, readJob } from './jobs.ts';
import { createLocalProvider, type LocalProviderDeps, type RenderFiles } from './local.ts';

/** The provider with its own database and folder. It renders nothing until `finish` is called. */
async function start() {
  const folder = await mkdtemp(path.join(tmpdir(), 'local-'));
  const database = await createTestDatabase();
  const own = openDatabase({ url: database.url, connections: 2, log: quiet });
  const files = filesIn(folder);
  const deps = { files, scratch: openScratchDirectory(path.join(folder, 'scratch')), log: quiet };
  let isOpen = true;
  const kill = async () => {
    if (isOpen) await own.close();
    isOpen = false;
  };
  return {
    provider: createLocalProvider({ ...deps, db: own }),
    simulator: controlOf({ ...deps, db: database.db }, kill),
    async close() {
      await kill();
      await database.close();
      await rm(folder, { recursive: true });
    },
  };
}

function filesIn(folder: string): RenderFiles {
  return {
    async open(name) {
      const file = await open(path.join(folder, name)).catch((cause: unknown) => {
        throw new OutputGone('the file is gone', { cause });
      });
      return file.createReadStream();
    },
    async keep(filePath, jobId) {
      const name = `${jobId}.mp4`;
      await rename(filePath, path.join(folder, name));
      return name;
    },
  };
}

const JOBS = statement(
  'test_local_jobs',
  `select id, spec->>'prompt' as prompt from local_jobs where state <> 'barred'`,
);
const CHANGE = statement(
  'test_local_job_change',
  'update local_jobs set state = $2, object_id = $3, cause = $4 where id = $1',
);
const KEEP_OTHERS = statement(
  'test_local_jobs_keep',
  `update local_jobs set state = 'rendering', leased_until = 'infinity'
   where state = 'queued' and id <> $1`,
);

/** The only record of submits is the row of each accepted job. */
function controlOf(deps: LocalProviderDeps, kill: () => Promise<void>): SimulatorControl {
  const jobs = () => deps.db.query<{ id: string; prompt: string }>(JOBS);
  return {
    jobs,
    kill,
    requests: async () => (await jobs()).map(() => ({ call: 'submit' })),
    async changeJob(id, { state, object_id = null, cause = null }) {
      await deps.db.query(CHANGE, [id, state, object_id, cause]);
    },
    async plan() {
      throw new Error('the local provider has no faults to plan');
    },
    clearPlans: async () => {},
    finish: (jobId) => renderAlone(deps, jobId),
  };
}

/**
 * Renders one job, as any process may. The other jobs get a lease without end, so they are not
 * rendered.
 */
async function renderAlone(deps: LocalProviderDeps, jobId: string): Promise<void> {
  await deps.db.query(KEEP_OTHERS, [jobId]);
  const renderer = createLocalProvider(deps);
  renderer.start?.();
  try {
    await eventually(
      () => stateOf(deps.db, jobId),
      (state) => state !== 'queued' && state !== 'rendering',
    );
  } finally {
    await renderer.stop?.();
  }
}

async function stateOf(db: Database, jobId: string) {
  return (await readJob(db, jobId))?.state;
}

providerConformance({
  name: 'local',
  transport: 'none',
  start,
  unmarked: {},
  refusals: [],
  statuses: [
    { says: 'queued', changes: { state: 'queued' }, becomes: working },
    { says: 'rendering', changes: { state: 'rendering' }, becomes: working },
    { says: 'succeeded', changes: { state: 'succeeded' }, becomes: succeeded },
    {
      says: 'failed',
      changes: { state: 'failed', cause: 'the renderer crashed' },
      becomes: failed('provider_failed', false),
    },
    {
      says: 'failed because its render was deleted',
      changes: { state: 'failed', cause: RENDER_GONE },
      becomes: failed('generation_expired', false),
    },
    { says: 'barred', changes: { state: 'barred' }, becomes: { kind: 'missing' } },
  ],
  find: 'exact',
  absence: 'final',
  callbacks: 'none',
});

test('a render that was deleted before it was copied is gone, and its job fails', async (t) => {
  const { provider, simulator, close } = await start();
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
  const { provider, close } = await start();
  t.after(close);
  for (let round = 0; round < 10; round += 1) {
    const jobSpec = newJobSpec();
    const input = {
      jobSpec,
      sentBetween: { from: 0, to: 1 },
      takenJobIds: async () => new Set<string>(),
    };
    const [outcome, found] = await Promise.all([
      provider.submit(jobSpec, sendNow),
      provider.find(input),
    ]);
    assert.equal(outcome.kind === 'accepted', found.kind === 'found');
  }
});
