import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { makeCustomer } from '../../test/customer.ts';
import { ask } from '../../test/service/command-line.ts';
import {
  completeNow,
  makeHeldTask,
  makeSubmittingTask,
  makeTask,
  openTaskFixture,
  scriptedProvider,
  sql,
  submitDeps,
  untilBlocked,
} from '../../test/task-fixtures.ts';
import { temporaryFolder } from '../../test/temporary-folder.ts';
import { recordEvidence } from '../attempts/evidence.ts';
import { recordOrphans } from '../attempts/orphans.ts';
import { newId } from '../kernel/ids.ts';
import { readFigures } from '../operator/listings/figures.ts';
import { reconcile } from '../operator/reconcile.ts';
import type { SubmitOutcome } from '../providers/provider.ts';
import { beginSession } from '../sign-in/sessions.ts';
import { diskStorage } from '../storage/disk.ts';
import { markReady } from '../storage/objects.ts';
import { reportAlive, reportGone } from '../worker/live-workers.ts';
import { submitTask } from '../worker/submit.ts';
import { parseCommandLine } from './command-line.ts';

const fixture = await openTaskFixture('audited');
const { db } = fixture;

/** Runs a command line in this process, with a reason if it takes one. */
async function run(line: string) {
  const args = line.split(' ');
  const withReason = [...args, '--reason', 'because'];
  const parsed = await parseCommandLine(withReason).catch((error) => {
    if (!/Unknown option '--reason'/.test(error.message)) throw error;
    return parseCommandLine(args);
  });
  return JSON.parse(JSON.stringify(await parsed.run({ db })));
}

const idsOf = (rows: { id: string }[]) => rows.map(({ id }) => id);

/** The ids of all rows of a list, read page by page. */
async function readPages<Key extends string>(line: string, limit: number, key: Key) {
  const ids: string[] = [];
  for (let after = ''; ; after = ` --after ${ids.at(-1)}`) {
    const page = await run(`${line} --limit ${limit}${after}`);
    ids.push(...page.map((row: Record<Key, string>) => row[key]));
    if (page.length < limit) return ids;
  }
}

/** A completed task with a stored output. */
async function makeCompleted() {
  const { task } = await makeTask(fixture);
  const output = `obj_${task.id}`;
  const insert = `insert into stored_objects (id, owner_id, role, media_type, size_bytes)
    values ($1, $2, 'output', 'video/mp4', 7)`;
  await sql(db, insert, [output, task.id]);
  await markReady(db, [output], 30);
  await completeNow(db, task, { outputObjectId: output });
  return { task, output };
}

async function makeOrphan(jobId: string) {
  const { held, attempt } = await makeHeldTask(fixture);
  await reconcile(db, held.id, { kind: 'failed' }, 'gave up');
  await recordEvidence(db, attempt.id, 'callback', { job: jobId, verified: true });
  await db.transaction((tx) => recordOrphans(tx, attempt.id));
}

/** Does the work while this task and another held one have swapped their providers. */
async function whileSwapped(id: string | undefined, work: () => Promise<void>): Promise<void> {
  const { held } = await makeHeldTask(fixture);
  const exchange = () =>
    sql(
      db,
      `update tasks set provider = (select min(o.provider) from tasks o
         where o.id = any($1) and o.id <> tasks.id)
       where id = any($1)`,
      [[id, held.id]],
    );
  await exchange();
  await work();
  await exchange();
}

test('held tasks of a filter are listed, and decided only if exactly these are confirmed', async () => {
  const { accountId } = await makeCustomer(db, 10_000);
  const ids: string[] = [];
  for (let count = 0; count < 3; count += 1) {
    const { held } = await makeHeldTask(fixture);
    await sql(db, 'update tasks set provider = $2 where id = $1', [held.id, 'fal']);
    ids.push(held.id);
  }
  const line = 'tasks reconcile --failed --provider fal';
  const { tasks, confirm } = await run(line);
  assert.deepEqual(idsOf(tasks), ids);
  for (const more of [`--account ${accountId}`, '--held-hours 1', '--cause outcome']) {
    assert.deepEqual((await run(`${line} ${more}`)).tasks, [], more);
  }
  assert.deepEqual(await run(`${line} --cause acceptance`), { tasks, confirm });
  await assert.rejects(run(`${line} --cause x`), /--cause must be/);
  await whileSwapped(ids[1], async () => {
    assert.equal((await run(line)).tasks.length, 3);
    await assert.rejects(run(`${line} --confirm ${confirm}`), /not the held tasks that you saw/);
    await assert.rejects(run(`${line} --confirm 3`), /not the held tasks that you saw/);
  });
  assert.deepEqual(idsOf((await run(line)).tasks), ids);
  const once = `${line} --confirm ${confirm}`;
  assert.deepEqual(await run(once), { ok: true, decided: 3, left: [] });
  await assert.rejects(run(once), /finds 0 now: nothing was decided/);
  for (const id of ids) {
    const [latest] = await run(`actions list --target ${id}`);
    const recorded = [latest.command, latest.reason, latest.details];
    assert.deepEqual(recorded, ['tasks reconcile', 'because', { kind: 'failed' }]);
    assert.equal((await run(`tasks show ${id}`)).phase, 'failed');
  }
});

test('a held task that moves while others are decided is left as it is', async () => {
  const made = [await makeHeldTask(fixture), await makeHeldTask(fixture)];
  const [first, second] = made.map(({ held, attempt }) => ({ id: held.id, attempt: attempt.id }));
  assert.ok(first && second);
  await sql(db, `update tasks set provider = 'fal' where id = any($1)`, [[first.id, second.id]]);
  const line = 'tasks reconcile --failed --provider fal';
  const { confirm } = await run(line);
  let deciding = Promise.resolve();
  await db.transaction(async (tx) => {
    await sql(tx, 'select from attempts where id = $1 for update', [first.attempt]);
    deciding = run(`${line} --confirm ${confirm}`);
    await untilBlocked(db);
    const job = { kind: 'accepted', jobId: 'job-moved' } as const;
    await reconcile(db, second.id, job, 'seen');
  });
  const left = [`${second.id} was moved since the list was shown`];
  assert.deepEqual(await deciding, { ok: false, decided: 1, left });
  assert.equal((await run(`tasks show ${second.id}`)).phase, 'generating');
  assert.deepEqual(await run(`actions list --target ${second.id}`), []);
  await run(`reconcile ${second.id} --failed`);
});

test('providers status shows a provider that refuses all submits, until one gets through', async () => {
  const refusal = { kind: 'rejected', fault: 'operator', cause: 'HTTP 401: a wrong key' } as const;
  const submit = async (outcome: SubmitOutcome) => {
    const { task } = await makeSubmittingTask(fixture);
    await sql(db, `update tasks set provider = 'fal' where id = $1`, [task.id]);
    const provider = scriptedProvider({ submit: async () => outcome });
    await submitTask(submitDeps(fixture, provider), { ...task, provider: 'fal' });
    // The task may have gone to the next connection of its route since.
    await sql(db, `update tasks set provider = 'ark' where id = $1`, [task.id]);
  };
  const fal = async () => {
    const rows = await run('providers status');
    const {
      state,
      reason,
      refused_submits: refused,
      last_refusal: last,
    } = rows.find((row: { provider: string }) => row.provider === 'fal');
    return [state, reason?.cause ?? reason, refused, last?.cause];
  };
  await submit({ kind: 'rejected', fault: 'busy', cause: 'HTTP 429' });
  assert.deepEqual(await fal(), ['open', null, 1, 'HTTP 429']);
  await submit(refusal);
  assert.deepEqual(await fal(), ['refusing', refusal.cause, 2, refusal.cause]);
  await run('providers pause fal');
  assert.deepEqual(await fal(), ['paused', 'because', 2, refusal.cause]);
  await run('providers resume fal');
  await submit({ kind: 'accepted', jobId: 'job-with-the-right-key' });
  assert.deepEqual(await fal(), ['open', null, 2, refusal.cause]);
  await submit(refusal);
  assert.equal((await fal())[0], 'refusing');
  const message = 'The prompt is refused.';
  await submit({ kind: 'rejected', fault: 'request', code: 'content_refused', message });
  assert.deepEqual(await fal(), ['open', null, 3, refusal.cause]);
});

test('pausing, resuming and setting terms record what they replace', async () => {
  const before = async (line: string, target: string) => {
    await run(line);
    const [{ details }] = await run(`actions list --target ${target}`);
    return details?.before;
  };
  assert.equal(await before('providers pause ark', 'ark'), undefined);
  assert.equal((await before('providers resume ark', 'ark')).reason, 'because');
  await run('creates pause');
  assert.equal((await before('creates resume', 'creates')).subject, 'creates');
  const terms = 'terms set fal video-2.0-fast 720p';
  assert.equal(await before(`${terms} 0.05 usd`, 'fal'), undefined);
  const { price, per } = await before(`${terms} 0.06 usd`, 'fal');
  assert.deepEqual([price, per], ['0.05', 'output-second']);
});

test('a route keeps its choice and retries when its steps change, and takes only existing connections', async () => {
  const set = async (...rest: string[]) => {
    const args = ['routes', 'set', 'video-2.0-mini', ...rest, '--reason', 'because'];
    return (await parseCommandLine(args)).run({ db });
  };
  const route = async () => {
    const [{ choice, steps, retry_failed: retries }] = await run('routes list');
    return `${choice}: ${steps}${retries ? ', retries' : ''}`;
  };
  await set('ark weight=3; fal', '--choice', 'weights', '--retry-failed', 'on');
  await set('ark weight=2; fal');
  assert.equal(await route(), 'weights: ark weight=2; fal, retries');
  await set('ark; fal', '--choice', 'order', '--retry-failed', 'off');
  assert.equal(await route(), 'order: ark; fal');
  await reportAlive(db, { id: 'one', providers: ['ark'], ingestSlots: 1 });
  const isServed = async () => (await run('routes list'))[0].is_served;
  assert.equal(await isServed(), true);
  await assert.rejects(set('replicate'), /not replicate.* first set REPLICATE_API_TOKEN/);
  await assert.rejects(set('nowhere'), /must name ark, fal, not nowhere.* first set CONNECTIONS/);
  await set('fal'); // its workers may be down for the moment
  assert.equal(await isServed(), false);
  await reportGone(db, 'one');
  await set('none');
  assert.deepEqual(await run('routes list'), []);
});

test('a pause of a connection that CONNECTIONS no longer names is shown and can end', async () => {
  await sql(db, `insert into pauses (subject, reason) values ('former', 'maintenance')`);
  const states = async () => {
    const rows: { provider: string; state: string }[] = await run('providers status');
    return rows.flatMap(({ provider, state }) => (provider === 'former' ? state : []));
  };
  assert.deepEqual(await states(), ['paused']);
  await run('providers resume former');
  assert.deepEqual(await states(), []);
});

test('audit --storage asks the storage for each file', async () => {
  const { output } = await makeCompleted();
  const kept = await sql<{ id: string }>(
    db,
    `update stored_objects set state = 'deleted' where state = 'ready' and id <> $1 returning id`,
    [output],
  );
  await using folder = await temporaryFolder();
  const env = { DATABASE_URL: fixture.database.url, DATA_DIR: folder.path };
  const auditStorage = async (code: number) => {
    const { ok, files, problems } = await ask(env, 'audit --storage', code);
    const ofFiles = (problems as string[]).filter((problem) => problem.startsWith(output));
    return { ok, files, ofFiles };
  };
  const select = 'select size_bytes as size, owner_id as of from stored_objects where id = $1';
  const [row] = await sql<{ size: number; of: string }>(db, select, [output]);
  const sentence = `${output}: output of ${row?.of}, ready with ${row?.size} bytes`;
  const missing = [`${sentence}, is not in the storage`];
  assert.deepEqual(await auditStorage(1), { ok: false, files: 1, ofFiles: missing });
  const longer = path.join(folder.path, 'longer');
  await writeFile(longer, Buffer.alloc((row?.size ?? 0) + 1));
  await diskStorage(path.join(folder.path, 'objects')).put(output, longer);
  assert.match(String((await auditStorage(1)).ofFiles), /has \d+ bytes in the storage/);
  const update = `update stored_objects set state = 'ready' where id = any($1)`;
  await sql(db, update, [kept.map(({ id }) => id)]);
});

test('accounts are listed page by page and shown with credits, keys and tasks', async () => {
  const { task } = await makeTask(fixture);
  const listed = await readPages('accounts list', 3, 'account_id');
  const all = await sql<{ id: string }>(db, 'select id from accounts');
  assert.deepEqual(listed.sort(), idsOf(all).sort());
  const ofAccount = `tasks list --account ${task.account_id}`;
  assert.deepEqual(idsOf(await run(ofAccount)), [task.id]);
  assert.deepEqual(await run(`${ofAccount} --phase completed`), []);
  assert.ok(idsOf(await run('tasks list --due')).includes(task.id));
  const { id, phase, attempts } = await run(`tasks show ${task.id}`);
  assert.deepEqual([id, phase, attempts], [task.id, 'reserved', []]);
  const shown = await run(`accounts show ${task.account_id}`);
  assert.deepEqual(shown.tasks, [{ phase: 'reserved', tasks: 1 }]);
  assert.deepEqual([shown.valid_keys, shown.paid.reserved], [1, task.credits]);
  await run(`accounts disable ${task.account_id}`);
  assert.equal((await run(`accounts show ${task.account_id}`)).valid_keys, 0);
});

test('held tasks are listed the oldest held first, other tasks the newest first', async () => {
  const held = await Promise.all([1, 2, 3].map(() => makeHeldTask(fixture)));
  const ids = held.map((one) => one.held.id);
  for (const [index, id] of ids.entries()) {
    const at = `update task_history set at = clock_now() - $2 * interval '1 day'
      where task_id = $1 and phase = 'held'`;
    await sql(db, at, [id, 10 + index]);
  }
  const listed = async (line: string) => idsOf(await run(line)).filter((id) => ids.includes(id));
  const oldestFirst = [...ids].reverse();
  assert.deepEqual(await listed('tasks list --phase held'), oldestFirst);
  const first = await run('tasks list --phase held --limit 1');
  assert.equal(first[0].id, oldestFirst[0]);
  const rest = await listed(`tasks list --phase held --after ${oldestFirst[0]}`);
  assert.deepEqual(rest, oldestFirst.slice(1));
  const newest = 'select id from tasks order by created_at desc, id desc';
  const all = await sql<{ id: string }>(db, newest);
  assert.deepEqual(await readPages('tasks list', 2, 'id'), idsOf(all));
  await assert.rejects(run('tasks list --after task_none'), /there is no task "task_none"/);
});

test('an acknowledged orphan job is left out of lists and metrics, unless all are asked for', async () => {
  await makeOrphan('job-acknowledged');
  const jobs = async (line: string) =>
    (await run(line)).map((row: { job_id: string }) => row.job_id);
  const counted = async () =>
    (await readFigures(db)).orphans.reduce((sum, { jobs: count }) => sum + count, 0);
  const before = await counted();
  await run('orphans acknowledge scripted job-acknowledged');
  assert.ok(!(await jobs('orphans list')).includes('job-acknowledged'));
  assert.ok((await jobs('orphans list --all')).includes('job-acknowledged'));
  assert.equal(await counted(), before - 1);
  await assert.rejects(run('orphans acknowledge ark job-acknowledged'), /ark has no orphan job/);
});

test('a video is taken down by the id of its ended task; a live task keeps its files', async () => {
  const { task, output } = await makeCompleted();
  const done = await run(`objects takedown ${task.id}`);
  assert.deepEqual([done.object_id, done.changed], [output, true]);
  const select = 'select state from stored_objects where id = $1';
  const [row] = await sql<{ state: string }>(db, select, [output]);
  assert.equal(row?.state, 'deleting');
  await assert.rejects(run(`tasks wake ${task.id}`), /is completed: it has no next step/);
  const { task: live } = await makeTask(fixture);
  const insert = `insert into stored_objects (id, owner_id, role, state, media_type)
    values ('obj_needed', $1, 'input', 'ready', 'image/png')`;
  await sql(db, insert, [live.id]);
  await assert.rejects(run('objects take-down obj_needed'), /needs its input obj_needed: cancel/);
  await assert.rejects(run('objects take-down obj_none'), /there is no object "obj_none"/);
});

/** A stored upload of this size. */
async function makeUpload(accountId: string, mailbox: string, sizeBytes: number) {
  const id = newId('object');
  const object = `insert into stored_objects (id, owner_id, role, media_type, size_bytes, state)
    values ($1, $2, 'upload', 'image/png', $3, 'ready')`;
  await sql(db, object, [id, accountId, sizeBytes]);
  const upload = `insert into uploads (object_id, account_id, mailbox_hash, kind, width, height)
    values ($1, $2, $3, 'image', 8, 8)`;
  await sql(db, upload, [id, accountId, Buffer.from(mailbox)]);
  return id;
}

test('uploads are listed, by mailbox too, and removed one by one or with their mailbox', async () => {
  const [ann, plus, bob] = await Promise.all([1, 2, 3].map(() => makeCustomer(db, 0)));
  assert.ok(ann && plus && bob);
  const first = await makeUpload(ann.accountId, 'ann', 20);
  const second = await makeUpload(plus.accountId, 'ann', 30);
  const older = await makeUpload(bob.accountId, 'bob', 40);
  const [largest, next] = await run('uploads mailboxes');
  assert.deepEqual([largest.accounts, largest.uploads, largest.bytes], [2, 2, 50]);
  assert.deepEqual([next.account_id, next.accounts, next.bytes], [bob.accountId, 1, 40]);
  const ids = (rows: { upload_id: string }[]) => rows.map(({ upload_id: id }) => id);
  assert.deepEqual(ids(await run('uploads list')), [older, second, first]);
  assert.deepEqual(ids(await run(`uploads list --limit 1 --after ${older}`)), [second]);
  assert.deepEqual(ids(await run(`uploads list --account ${ann.accountId}`)), [first]);
  const removed = await run(`uploads remove ${older}`);
  const counts = { removed_uploads: 1, removed_bytes: 40, changed: true };
  assert.deepEqual(removed, { upload_id: older, ...counts });
  assert.equal((await run(`uploads remove ${older}`)).changed, false);
  const ofMailbox = await run(`uploads remove ${ann.accountId}`);
  assert.deepEqual([ofMailbox.removed_uploads, ofMailbox.removed_bytes], [2, 50]);
  assert.deepEqual(await run('uploads list'), []);
  await assert.rejects(run('uploads remove obj_none'), /there is no upload/);
  const [action] = await run(`actions list --target ${ann.accountId}`);
  assert.deepEqual([action.command, action.reason], ['uploads remove', 'because']);
  const select = `select from stored_objects where role = 'upload' and state = 'ready'`;
  const left = await sql(db, select);
  assert.equal(left.length, 0);
});

test('sessions, passkeys and identities are listed, and end by sign-out; a disable ends sessions', async () => {
  const { accountId } = await makeCustomer(db, 0);
  const from = { method: 'code', network: '203.0.113.0/24', browser: 'Firefox on Linux' };
  const begin = () => beginSession(db, accountId, from);
  const add = async (id: string) => {
    const passkey = `insert into passkeys (id, account_id, public_key, counter, name)
      values ($2, $1, 'x', 0, 'of ' || $2)`;
    await sql(db, passkey, [accountId, id]);
    const identity = `insert into identities (issuer, subject, account_id) values ('oidc', $2, $1)`;
    await sql(db, identity, [accountId, id]);
  };
  await Promise.all([begin(), begin(), add('-thief'), add('owner')]);
  const listed = async () => {
    const { sessions, passkeys, identities } = await run(`accounts sessions ${accountId}`);
    for (const session of sessions) assert.partialDeepStrictEqual(session, from);
    return [sessions.length, passkeys.length, identities.length];
  };
  assert.deepEqual(await listed(), [2, 2, 2]);
  const signOut = `accounts sign-out ${accountId}`;
  const ended = { account_id: accountId, removed_passkeys: 0, removed_identities: 0 };
  const onlySessions = { ...ended, ended_sessions: 2, changed: true };
  assert.deepEqual(await run(`${signOut} --only-sessions`), onlySessions);
  assert.equal((await run(`${signOut} --only-sessions`)).changed, false);
  const remove = `accounts remove-passkey ${accountId} --passkey=-thief`;
  assert.equal((await run(remove)).changed, true);
  assert.equal((await run(remove)).changed, false);
  assert.deepEqual(await listed(), [0, 1, 2]);
  await begin();
  const all = { ended_sessions: 1, removed_passkeys: 1, removed_identities: 2, changed: true };
  assert.deepEqual(await run(signOut), { ...ended, ...all });
  assert.equal((await run(signOut)).changed, false);
  await begin();
  await run(`accounts disable ${accountId}`);
  await run(`accounts enable ${accountId}`);
  assert.deepEqual(await listed(), [0, 0, 0]);
});
