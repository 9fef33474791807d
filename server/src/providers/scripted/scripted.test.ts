import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createTestDatabase, quiet } from '../../../test/database.ts';
import { findJobInput, newJobSpec, sendNow } from '../../../test/providers/conformance/attempts.ts';
import { failed, succeeded, working } from '../../../test/providers/conformance/meanings.ts';
import { providerConformance } from '../../../test/providers/conformance.ts';
import { sql } from '../../../test/task-fixtures.ts';
import { openDatabase } from '../../database/database.ts';
import type { JobSpec } from '../provider.ts';
import { createScriptedProvider } from './scripted.ts';

async function start() {
  const database = await createTestDatabase();
  const own = openDatabase({ url: database.url, connections: 2, log: quiet });
  const { db } = database;
  const prompts = new Map<string, string>(); // the jobs keep none
  let isOpen = true;
  const kill = async () => {
    if (isOpen) await own.close();
    isOpen = false;
  };
  const jobs = async () => {
    const rows = await sql<{ id: string }>(
      db,
      `select id from scripted_jobs where state <> 'barred'`,
    );
    return rows.map(({ id }) => ({ id, prompt: prompts.get(id) ?? '' }));
  };
  const provider = createScriptedProvider({ db: own, log: quiet, now: Date.now });
  return {
    provider: {
      ...provider,
      submit(jobSpec: JobSpec, mayStillSend: () => boolean) {
        prompts.set(jobSpec.attemptId, jobSpec.prompt);
        return provider.submit(jobSpec, mayStillSend);
      },
    },
    simulator: {
      jobs,
      kill,
      requests: async () => (await jobs()).map(() => ({ call: 'submit' })),
      async changeJob(id: string, { state, outcome = 'completed', seconds = 0 }: object & Changes) {
        await sql(
          db,
          `update scripted_jobs set state = $2, outcome = $3,
             created_at = created_at - $4::float8 * interval '1 second' where id = $1`,
          [id, state, outcome, seconds],
        );
      },
      async plan() {
        throw new Error('the scripted provider has no faults to plan');
      },
      clearPlans: async () => {},
      async finish(id: string) {
        await sql(
          db,
          `update scripted_jobs set created_at = created_at - interval '1 minute' where id = $1`,
          [id],
        );
      },
    },
    async close() {
      await kill();
      await database.close();
    },
  };
}

interface Changes {
  state?: string;
  outcome?: string;
  seconds?: number;
}

providerConformance({
  name: 'scripted',
  transport: 'none',
  start,
  unmarked: {},
  refusals: [],
  statuses: [
    { says: 'accepted', changes: { state: 'accepted' }, becomes: working },
    { says: 'worked long enough', changes: { state: 'accepted', seconds: 3 }, becomes: succeeded },
    {
      says: 'not long enough for test-slow',
      changes: { state: 'accepted', outcome: 'slow', seconds: 3 },
      becomes: working,
    },
    {
      says: 'failed',
      changes: { state: 'accepted', outcome: 'failed', seconds: 3 },
      becomes: failed('provider_failed', false),
    },
    {
      says: 'cancelled',
      changes: { state: 'cancelled' },
      becomes: failed('provider_failed', false),
    },
    { says: 'barred', changes: { state: 'barred' }, becomes: { kind: 'missing' } },
  ],
  find: 'exact',
  absence: 'final',
  callbacks: 'none',
});

test('each word of a prompt has its outcome of the submit', async (t) => {
  const { provider, close } = await start();
  t.after(close);
  const outcomeOf = async (word: string) => {
    const outcome = await provider.submit(newJobSpec({ prompt: `A boat, ${word}.` }), sendNow);
    const { kind } = outcome;
    return kind === 'rejected' && outcome.fault === 'request' ? outcome.code : kind;
  };
  const outcomes = await Promise.all(
    ['test-drive', 'test-slow', 'test-failed', 'Test-Refused', 'test-media-unreachable'].map(
      outcomeOf,
    ),
  );
  assert.deepEqual(outcomes, [
    'accepted',
    'accepted',
    'accepted',
    'content_refused',
    'invalid_media',
  ]);
  const others = await Promise.all(
    ['test-busy', 'test-held-accepted', 'test-held-refused'].map(outcomeOf),
  );
  assert.deepEqual(others, ['rejected', 'unknown', 'unknown']);
});

test('an unknown acceptance is decided after ten seconds, for good', async (t) => {
  const { provider, close } = await start();
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
  const { provider, close } = await start();
  t.after(close);
  for (const ratio of ['1:1', '21:9', '4:3', '3:4', '16:9', '9:16']) {
    let bytes = 0;
    for await (const part of await provider.openOutput({ aspect_ratio: ratio })) {
      bytes += part.length;
    }
    assert.ok(bytes > 1000 && bytes < 32_768, `${ratio}: ${bytes} bytes`);
  }
});
