import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { after, beforeEach, test } from 'node:test';
import { Webhook } from 'standardwebhooks';
import { client, SMALLEST } from '../../test/client.ts';
import { makeCustomer } from '../../test/customer.ts';
import { openTestDatabase, quiet } from '../../test/database.ts';
import { longTest } from '../../test/long.ts';
import {
  ALLOW,
  DENY,
  NO_VERDICT,
  REVIEW,
  saying,
  startModeratingService,
} from '../../test/moderating-service.ts';
import { createRandom } from '../../test/random.ts';
import { startServiceProcess } from '../../test/service/service-process.ts';
import {
  claimTask,
  dueInSeconds,
  makeSubmittingTask,
  openTaskFixture,
  PRICE,
  REQUEST,
  scriptedProvider,
  sql,
  submitDeps,
} from '../../test/task-fixtures.ts';
import { temporaryFolder } from '../../test/temporary-folder.ts';
import { until } from '../../test/until.ts';
import { beginCancel } from '../attempts/cancel.ts';
import { balances } from '../ledger/ledger.ts';
import { audit } from '../operator/audit.ts';
import { listReviews } from '../operator/listings/reviews.ts';
import { createGuardedFetch } from '../outbound/guarded-fetch.ts';
import { createProviderBreaker } from '../providers/circuit-breaker/breaker.ts';
import { announce } from '../tasks/create/idempotency-keys.ts';
import { readTask, type Task } from '../tasks/task.ts';
import { submitTask } from '../worker/submit.ts';
import type { ModerationService } from './ask.ts';
import { createModeration, type ModerationChecks } from './moderate.ts';
import { decideReview, endReview } from './review.ts';
import { parseWordList } from './word-list.ts';

const REVIEW_SECONDS = 3600;
const FRAME = { field: 'image_url', entry: null, role: 'first_frame', objectId: 'obj_1' } as const;
const SIZE = { width: 1, height: 1, durationSeconds: null };
const PICTURE = { ...FRAME, mediaType: 'image/png', ...SIZE };

const fixture = await openTaskFixture('audited');
const { db } = fixture;
const service = await startModeratingService();
const { received, says } = service;
const dead = await deadHost();
const outbound = createGuardedFetch({ allow: new Set([service.host, dead]) });
after(async () => {
  await outbound.close();
  await service.close();
});
beforeEach(async () => {
  received.length = 0;
  await sql(db, 'delete from provider_outages');
});

/** A port at which nothing listens. */
async function deadHost(): Promise<string> {
  const server = createServer();
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const address = server.address();
  server.close();
  assert.ok(address && typeof address === 'object');
  return `127.0.0.1:${address.port}`;
}

function stepDeps(
  checks: Partial<ModerationChecks> = {},
  changes: Partial<ModerationService> = {},
) {
  const settings: ModerationService = {
    kind: 'webhook',
    url: service.url,
    secret: service.secret,
    model: undefined,
    sendsImages: true,
    timeoutSeconds: 10,
    ...changes,
  };
  const accepting = scriptedProvider({
    submit: async ({ attemptId }) => ({ kind: 'accepted', jobId: attemptId }),
  });
  const deps = { ...submitDeps(fixture, accepting), reviewSeconds: REVIEW_SECONDS };
  const links = { briefLinkTo: (id: string) => `https://media.test/brief/${id}` };
  const moderation = createModeration(
    { words: undefined, service: settings, onFailure: 'closed', ...checks },
    { ...deps, outbound, links, breaker: createProviderBreaker({ db, log: quiet }) },
  );
  return { ...deps, moderation };
}

async function ended(task: Task) {
  const { phase, error_code: code, error_message: message } = await readTask(db, task.id);
  const { available } = (await balances(db, task.account_id)).paid;
  return { phase, code, message, isRefunded: available === PRICE.credits };
}

async function attemptsOf(task: Task): Promise<number> {
  return (await sql(db, 'select from attempts where task_id = $1', [task.id])).length;
}

async function verdictOf(task: Task) {
  const text = 'select verdict, source, reason from moderation_verdicts where task_id = $1';
  return { ...(await sql<object>(db, text, [task.id]))[0] };
}

test('the service is asked once, with a signature, and told nothing about the customer but the account’s age', async () => {
  says(ALLOW);
  const { task } = await makeSubmittingTask(fixture);
  const older = `update accounts set created_at = created_at - interval '50 hours' where id = $1`;
  await sql(db, older, [task.account_id]);
  task.inputs = [PICTURE];
  const deps = stepDeps();
  assert.equal(await deps.moderation?.admit(task), 'admitted');
  assert.equal(await deps.moderation?.admit(task), 'admitted');
  assert.equal(received.length, 1);
  const [{ headers, body } = assert.fail()] = received;
  const payload = new Webhook(service.secret).verify(body, headers as Record<string, string>);
  const { type, data } = payload as { type: string; data: object };
  assert.deepEqual([type, headers['webhook-id']], ['moderation.requested', task.id]);
  assert.deepEqual(data, {
    task_id: task.id,
    prompt: REQUEST.prompt,
    model: REQUEST.model,
    mode: REQUEST.mode,
    account_age_days: 2,
    inputs: [
      { field: 'image_url', media_type: 'image/png', url: 'https://media.test/brief/obj_1' },
    ],
  });
  assert.deepEqual(await verdictOf(task), { verdict: 'allow', source: 'service', reason: null });
});

test('an allowed task is submitted; a denied one fails with its refund, and no provider sees it', async () => {
  for (const [answer, expected] of [
    [ALLOW, { phase: 'generating', code: null, message: null, isRefunded: false }],
    [
      DENY,
      {
        phase: 'failed',
        code: 'content_refused',
        message:
          'The request breaks the rules of this service. Reason: no weapons. The credits are refunded.',
        isRefunded: true,
      },
    ],
  ] as const) {
    says(answer);
    const { task } = await makeSubmittingTask(fixture);
    await submitTask(stepDeps(), task);
    assert.deepEqual(await ended(task), expected);
    assert.equal(await attemptsOf(task), expected.isRefunded ? 0 : 1);
  }
});

test('a denial counts although its reason or its categories are malformed', async () => {
  for (const [kind, answer] of [
    ['webhook', { verdict: 'deny', reason: ['violence'] }],
    ['moderations', { results: [{ flagged: true, categories: null }] }],
  ] as const) {
    says(saying(answer));
    const { task } = await makeSubmittingTask(fixture);
    await stepDeps({ onFailure: 'open' }, { kind }).moderation?.admit(task);
    assert.deepEqual(await verdictOf(task), { verdict: 'deny', source: 'service', reason: null });
  }
});

test('a task of a test key is never sent to the service', async () => {
  says(DENY);
  const { task } = await makeSubmittingTask(fixture);
  assert.equal(await stepDeps().moderation?.admit({ ...task, surface: 'test' }), 'admitted');
  assert.equal(received.length, 0);
});

/** A task that waits for an operator. */
async function taskInReview(): Promise<Task> {
  says(REVIEW);
  const { task } = await makeSubmittingTask(fixture);
  assert.equal(await submitTask(stepDeps(), task), 'postponed');
  const waiting = await readTask(db, task.id);
  assert.equal(waiting.phase, 'review');
  assert.ok((await dueInSeconds(db, task.id)) > REVIEW_SECONDS - 60);
  return waiting;
}

const decide = (task: Task, verdict: 'allow' | 'deny') =>
  db.transaction((tx) => decideReview(tx, task.id, { verdict, reason: 'ticket 91' }));

test('a task in review is submitted once an operator allows it, without another question', async () => {
  const task = await taskInReview();
  await decide(task, 'allow');
  const deps = stepDeps();
  await submitTask(deps, await claimTask(db, task.id));
  assert.equal((await readTask(db, task.id)).phase, 'generating');
  assert.equal(received.length, 1);
  assert.deepEqual(await verdictOf(task), {
    verdict: 'allow',
    source: 'operator',
    reason: 'a real person',
  });
  await assert.rejects(decide(task, 'deny'), /is generating, not in review/);
});

test('a task in review that is denied, cancelled or not decided in time fails with its refund', async () => {
  const waits = { db, reviewSeconds: REVIEW_SECONDS };
  const ends = {
    denied: (task: Task) => decide(task, 'deny'),
    cancelled: (task: Task) =>
      db.transaction((tx) =>
        beginCancel(tx, task.id, { cause: { cancelled_by: 'customer' }, alsoHeldOutcome: false }),
      ),
    'not decided in time': async ({ id }: Task) => {
      await sql(db, 'update tasks set due_at = clock_now() where id = $1', [id]); // woken early
      assert.equal(await endReview(waits, await claimTask(db, id)), 'postponed');
      assert.ok((await dueInSeconds(db, id)) > REVIEW_SECONDS - 60);
      const earlier = `clock_now() - interval '${REVIEW_SECONDS} seconds'`;
      const update = `update tasks set due_at = clock_now(), updated_at = ${earlier} where id = $1`;
      await sql(db, update, [id]);
      await endReview(waits, await claimTask(db, id));
    },
  };
  for (const [name, end] of Object.entries(ends)) {
    const task = await taskInReview();
    await end(task);
    const { phase, code, isRefunded } = await ended(task);
    const expected = name === 'cancelled' ? 'cancelled' : 'content_refused';
    assert.deepEqual([phase, code, isRefunded], ['failed', expected, true], name);
    assert.equal(await attemptsOf(task), 0, name);
  }
});

test('a page of reviews can begin after one that was decided meanwhile', async () => {
  const tasks = [await taskInReview(), await taskInReview(), await taskInReview()];
  const [first, ...others] = tasks.map(({ id }) => id);
  const [decided] = tasks;
  assert.ok(decided && first);
  await decide(decided, 'deny');
  const next = (await listReviews(db, first, 100)).map(({ id }) => id);
  assert.deepEqual(next.slice(0, 2), others);
});

test('with a service that gives no verdict, tasks wait, or go on if the operator says so', async () => {
  for (const [name, broken] of [
    ...Object.entries(NO_VERDICT),
    ['unreachable', () => {}] as const,
  ]) {
    says(broken);
    const settings = {
      timeoutSeconds: 0.3,
      ...(name === 'unreachable' && { url: `http://${dead}/` }),
    };
    for (const onFailure of ['closed', 'open'] as const) {
      const { task } = await makeSubmittingTask(fixture);
      const result = await stepDeps({ onFailure }, settings).moderation?.admit(task);
      const expected = onFailure === 'open' ? 'admitted' : 'postponed';
      assert.equal(result, expected, `${name}, ${onFailure}`);
      const verdict = { verdict: 'allow', source: 'failure', reason: null };
      assert.deepEqual(await verdictOf(task), onFailure === 'open' ? verdict : {}, name);
      await sql(db, 'delete from provider_outages');
    }
  }
});

const seed = Number(process.env.FRAMEWRIGHT_SEED ?? Math.floor(Math.random() * 1e6));

for (const onFailure of ['closed', 'open'] as const) {
  const title = `fifty tasks get one verdict each from a service that behaves at random, ${onFailure}`;
  longTest(title, async (t) => {
    t.diagnostic(`FRAMEWRIGHT_SEED=${seed}`);
    const random = createRandom(seed);
    const database = await openTestDatabase();
    await using folder = await temporaryFolder();
    await using running = await startServiceProcess({
      DATABASE_URL: database.url,
      DATA_DIR: folder.path,
      ...service.env,
      MODERATION_ON_FAILURE: onFailure,
      MODERATION_REFUSAL_LIMIT: '0',
      MODERATION_TIMEOUT_SECONDS: '1',
    });
    const sound = { allow: ALLOW, deny: DENY, review: REVIEW };
    const given = new Set<string>();
    says((response) => {
      const [name, answer] = random.pick(Object.entries(random.chance(0.5) ? sound : NO_VERDICT));
      given.add(`${received.at(-1)?.id} ${name}`);
      return answer(response);
    });
    const customer = () => makeCustomer(database.db, 10 * 60);
    const customers = await Promise.all([1, 2, 3, 4, 5].map(customer));
    const created = customers.flatMap(({ secret }) =>
      Array.from({ length: 10 }, () => client(running.url, secret).create(SMALLEST)),
    );
    const statuses = (await Promise.all(created)).map(({ status }) => status);
    assert.deepEqual([...new Set(statuses)].toSorted(), [202, 400]);
    const decideReviews = async () => {
      for (const { id } of await listReviews(database.db, null, 100)) {
        const decision = { verdict: random.pick(['allow', 'deny']), reason: '' };
        await database.db.transaction((tx) => decideReview(tx, id, decision));
      }
    };
    const open = async () => {
      await sql(database.db, 'delete from provider_outages'); // else most of the time is waiting
      await decideReviews();
      return sql(database.db, 'select from tasks where due_at is not null');
    };
    await until(open, ({ length }) => length === 0, 300);
    const tasks = await sql<{ id: string; phase: string; verdict: string; source: string }>(
      database.db,
      `select id, phase, verdict, source,
         (select count(*)::int from attempts where task_id = tasks.id) as jobs
       from tasks join moderation_verdicts on task_id = id`,
    );
    for (const { id, source, verdict, ...task } of tasks) {
      const isAllowed = verdict === 'allow';
      assert.deepEqual(
        task,
        isAllowed ? { phase: 'completed', jobs: 1 } : { phase: 'failed', jobs: 0 },
      );
      const said = source === 'operator' ? 'review' : verdict;
      assert.ok(source === 'failure' ? onFailure === 'open' : given.has(`${id} ${said}`), source);
    }
    const videos = tasks.filter(({ phase }) => phase === 'completed').length;
    t.diagnostic(`${received.length} questions, ${videos} videos`);
    const left = await Promise.all(
      customers.map(
        async ({ accountId }) => (await balances(database.db, accountId)).paid.available,
      ),
    );
    const spent = left.reduce((sum, available) => sum - available, 50 * 60);
    assert.deepEqual([tasks.length, spent], [50, 60 * videos]);
    assert.deepEqual(await audit(database.db), { ok: true, problems: [] });
  });
}

test('a service that failed three times in a row is left alone, and waiting tasks are refunded in the end', async () => {
  says(saying('', 503));
  const deps = stepDeps();
  for (let i = 0; i < 5; i += 1) {
    const { task } = await makeSubmittingTask(fixture);
    assert.equal(await submitTask(deps, task), 'postponed');
  }
  assert.equal(received.length, 3);
  await sql(db, 'delete from provider_outages');
  says(saying({ error: 'unreadable picture' }, 400));
  for (let i = 0; i < 5; i += 1) {
    const { task } = await makeSubmittingTask(fixture);
    assert.equal(await submitTask(deps, task), 'postponed', 'one bad request closes nothing');
  }
  assert.equal(received.length, 8);
  says(saying('', 503));
  const { task } = await makeSubmittingTask(fixture);
  await announce(db, task.id);
  const earlier = `update tasks set refused_at = clock_now() - interval '1 hour' where id = $1`;
  await sql(db, earlier, [task.id]);
  await submitTask(deps, task);
  const { phase, code, isRefunded } = await ended(task);
  assert.deepEqual([phase, code, isRefunded], ['failed', 'provider_unavailable', true]);
});

test('a list of words denies without asking, and the stricter of list and service counts', async () => {
  const words = parseWordList('deny lighthouse at night\nreview light*');
  const at = async (prompt: string, answer: Parameters<typeof says>[0]) => {
    says(answer);
    const { task } = await makeSubmittingTask(fixture);
    const moderated = { ...task, request: { ...task.request, prompt } };
    await stepDeps({ words }).moderation?.admit(moderated);
    return verdictOf(task);
  };
  assert.deepEqual(await at('A Lighthouse at NIGHT', ALLOW), {
    verdict: 'deny',
    source: 'words',
    reason: 'line 1: lighthouse at night',
  });
  assert.equal(received.length, 0);
  const review = { verdict: 'review', source: 'words', reason: 'line 2: light*' };
  assert.deepEqual(await at('A lighthouse', ALLOW), review);
  const deny = { verdict: 'deny', source: 'service', reason: 'no weapons.' };
  assert.deepEqual(await at('A lighthouse', DENY), deny);
});

test('a flagged prompt is denied although the service can not read the picture beside it', async () => {
  const { task } = await makeSubmittingTask(fixture);
  task.inputs = [PICTURE];
  says((response) => {
    const isPicture = received.at(-1)?.body.includes('image_url');
    const flagged = saying({ results: [{ flagged: true, categories: { violence: true } }] });
    return (isPicture ? saying('', 400) : flagged)(response);
  });
  const deps = stepDeps({ onFailure: 'open' }, { kind: 'moderations' });
  assert.notEqual(await deps.moderation?.admit(task), 'admitted');
  assert.deepEqual(await verdictOf(task), {
    verdict: 'deny',
    source: 'service',
    reason: 'violence',
  });
});

test('the adapter for /v1/moderations asks for the prompt and each picture, and denies what is flagged', async () => {
  const flagged = (isFlagged: boolean) =>
    saying({
      results: [{ flagged: isFlagged, categories: { violence: isFlagged, sexual: false } }],
    });
  const settings = { kind: 'moderations', secret: 'sk-test', model: 'm-1' } as const;
  for (const isFlagged of [false, true]) {
    received.length = 0;
    says(flagged(isFlagged));
    const { task } = await makeSubmittingTask(fixture);
    task.inputs = [
      { ...PICTURE, field: 'reference_image_urls', role: 'reference_image' },
      {
        ...PICTURE,
        field: 'reference_video_urls',
        role: 'reference_video',
        mediaType: 'video/mp4',
      },
    ];
    await stepDeps({}, settings).moderation?.admit(task);
    const sent = received.map(({ body, headers }) => {
      assert.equal(headers.authorization, 'Bearer sk-test');
      return JSON.parse(body);
    });
    assert.deepEqual(
      sent.toSorted((a) => (typeof a.input === 'string' ? -1 : 1)),
      [
        { model: 'm-1', input: REQUEST.prompt },
        {
          model: 'm-1',
          input: [{ type: 'image_url', image_url: { url: 'https://media.test/brief/obj_1' } }],
        },
      ],
    );
    const verdict = isFlagged
      ? { verdict: 'deny', source: 'service', reason: 'violence' }
      : { verdict: 'allow', source: 'service', reason: null };
    assert.deepEqual(await verdictOf(task), verdict);
  }
});
