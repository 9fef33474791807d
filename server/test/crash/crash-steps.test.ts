import assert from 'node:assert/strict';
import { generateKeyPairSync, sign } from 'node:crypto';
import { mkdir, readdir, utimes, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import path from 'node:path';
import { buffer } from 'node:stream/consumers';
import { describe, test } from 'node:test';
import { closeServer, listenOn } from '../../../simulators/kit/http-server.ts';
import { startSimulator } from '../../../simulators/kit/process.ts';
import { makeCertificate } from '../../src/credentials/make-certificate.ts';
import { UsageError } from '../../src/kernel/errors.ts';
import { openScratchDirectory } from '../../src/kernel/scratch-directory.ts';
import { decideReview } from '../../src/moderation/review.ts';
import { reconcile } from '../../src/operator/reconcile.ts';
import type { ApiResponse } from '../client.ts';
import { unlessLong } from '../long.ts';
import { REVIEW, startModeratingService } from '../moderating-service.ts';
import {
  assertBalance,
  assertOneVideo,
  assertTidyObjects,
  tasksOfKey,
} from '../service/end-state.ts';
import { startServiceProcess } from '../service/service-process.ts';
import { sql } from '../task-fixtures.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { until } from '../until.ts';
import { apiBuyer, type Buyer, webBuyer } from './buyers.ts';
import { type CrashFixture, openCrashFixture, VIDEO_MODEL } from './crash-fixture.ts';
import { CUSTOMER_LIVES } from './customer-lives.ts';
import { crashAtManyPoints, type Story, seed } from './rounds.ts';

/** One request for a video, by a buyer of its own. */
function purchase(fixture: CrashFixture, makeBuyer: typeof webBuyer): Story {
  const { db } = fixture.database;
  const key = `crash-${crypto.randomUUID()}`;
  let buyer: Buyer;
  return {
    mark: key,
    async prepare(url) {
      buyer = await makeBuyer(fixture, url);
    },
    act: (url) => buyer.create(url, key),
    isDone: async () => (await tasksOfKey(db, key))[0]?.phase === 'completed',
    check: (url, response) => assertBought(fixture, { key, buyer, response }, url),
  };
}

/** Retries the create with its key; the request must end in one video, charged once. */
async function assertBought(
  fixture: CrashFixture,
  bought: { key: string; buyer: Buyer; response: ApiResponse | undefined },
  url: string,
): Promise<void> {
  const { db } = fixture.database;
  const { key, buyer } = bought;
  const response = await until(
    () => buyer.create(url, key),
    ({ status }) => status !== 503,
  );
  assert.ok(response.status === 200 || response.status === 202, JSON.stringify(response.body));
  const { id } = response.body;
  if (bought.response?.status === 202) {
    assert.deepEqual({ id, status: response.status }, { id: bought.response.body.id, status: 200 });
  }
  await until(
    () => tasksOfKey(db, key),
    (tasks) => tasks.every(({ phase }) => ['completed', 'failed'].includes(phase)),
  );
  await assertOneVideo(db, key, id);
  await assertBalance(db, buyer.accountId, 0);
  await assertTidyObjects(db, fixture.stored);
}

// A request with a text has no points that the one with a picture lacks.
const PURCHASES = [
  ['from a text by the API', 'text-to-video', apiBuyer, false],
  ['from a picture by the API', 'image-to-video', apiBuyer, seed % 4 === 0],
  ['from an upload and promotional credits', 'image-to-video', webBuyer, seed % 4 === 2],
] as const;

/** Two connections at this host, then the built-in one; failed jobs are tried again. */
async function routed(fixture: CrashFixture, url: string): Promise<CrashFixture> {
  const steps = ['ark', 'second', 'local'].map((connection) => ({ connection }));
  const values = [VIDEO_MODEL, JSON.stringify(steps)];
  const { db } = fixture.database;
  await sql(
    db,
    `insert into routes (model, choice, steps, retry_failed) values ($1, 'order', $2::jsonb, true)`,
    values,
  );
  const env = {
    ...fixture.env,
    PROVIDER: 'ark',
    CONNECTIONS: 'second:ark',
    PROVIDER_ALLOW: new URL(url).host,
    ARK_API_KEY: 'one',
    ARK_BASE_URL: url,
    SECOND_API_KEY: 'two',
    SECOND_BASE_URL: url,
  };
  return { ...fixture, env };
}

/**
 * A process that died with an attempt in flight at a host that is down leaves its task held there:
 * only an operator knows that there is no job.
 * @returns whether the task was announced, so that it ends refunded
 */
async function decideHeld(fixture: CrashFixture, key: string): Promise<boolean> {
  const { db } = fixture.database;
  const tasks = await until(
    () => tasksOfKey(db, key),
    (all) => all.every(({ phase }) => ['completed', 'failed', 'held'].includes(phase)),
  );
  const held = tasks.find(({ phase }) => phase === 'held');
  if (!held) return false;
  assert.deepEqual(held.jobs, [], 'a held task is at no other connection');
  await until(async () => {
    await fixture.expireLeases(); // until the submit can't be under way any more
    return reconcile(db, held.id, { kind: 'not_accepted' }, 'a test').catch(() => undefined);
  });
  const [after] = await tasksOfKey(db, key);
  assert.equal(after?.phase, 'failed');
  return held.announced;
}

/** Whether the job was adopted later because its sender died: then its failure is final. */
async function failedAfterAdoption(fixture: CrashFixture, key: string): Promise<boolean> {
  const text = `select from tasks t join attempts a on a.task_id = t.id
    where t.idempotency_key = $1 and t.error_code = 'provider_failed' and a.outcome_by in ('find', 'callback')`;
  return (await sql(fixture.database.db, text, [key])).length > 0;
}

/** A purchase that a service wants to be reviewed, and that an operator allows as soon as it can. */
function reviewed(fixture: CrashFixture, moderator: Moderator): Story {
  const { db } = fixture.database;
  const story = purchase(fixture, apiBuyer);
  const allow = async () => {
    const [task] = await tasksOfKey(db, story.mark);
    if (task?.phase !== 'review') return;
    const decision = { verdict: 'allow', reason: 'a test' } as const;
    await db
      .transaction((tx) => decideReview(tx, task.id, decision))
      .catch((error: unknown) => {
        if (!(error instanceof UsageError)) throw error;
      });
  };
  return {
    ...story,
    async isDone() {
      await allow();
      return story.isDone();
    },
    async check(url, response) {
      let isChecked = false;
      const checking = story.check(url, response).finally(() => {
        isChecked = true;
      });
      await until(async () => {
        await allow();
        return isChecked;
      });
      await checking;
      const [task] = await tasksOfKey(db, story.mark);
      const questions = moderator.received.filter(({ headers }) => {
        return headers['webhook-id'] === task?.id;
      });
      assert.ok(questions.length <= 2, 'asked again only if the verdict was not recorded');
      const text = 'select verdict, source from moderation_verdicts where task_id = $1';
      const verdicts = await sql(db, text, [task?.id]);
      assert.deepEqual(verdicts, [{ verdict: 'allow', source: 'operator' }]);
    },
  };
}

type Moderator = Awaited<ReturnType<typeof startModeratingService>>;

/** A service that has the signing key, and what a service of the fixture needs for it. */
async function startSigningService(folder: string) {
  const keys = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const { chain } = makeCertificate(
    new Date(Date.now() - DAY_MS),
    new Date(Date.now() + DAY_MS),
    keys,
  );
  const file = path.join(folder, 'chain.pem');
  await mkdir(folder, { recursive: true });
  await writeFile(file, chain);
  let step = (_moment: 'asked' | 'answered') => {};
  const server = createServer(async (request, response) => {
    const bytes = await buffer(request);
    const signature = sign('sha256', bytes, { key: keys.privateKey, dsaEncoding: 'ieee-p1363' });
    if (bytes.length > 100) step('asked'); // not the trial at a start
    response.end(signature, () => bytes.length > 100 && step('answered'));
  });
  return {
    env: {
      CONTENT_CREDENTIALS_CERT: file,
      CONTENT_CREDENTIALS_SIGNER_URL: await listenOn(server),
    },
    onStep(next: typeof step) {
      step = next;
    },
    [Symbol.asyncDispose]: () => closeServer(server),
  };
}

const DAY_MS = 86_400_000;

/** Removes what dead processes left in the scratch directory, as a service does after ten minutes. */
async function foldersLeft(root: string): Promise<string[]> {
  const lastYear = new Date(Date.now() - 365 * DAY_MS);
  for (const name of await readdir(root)) await utimes(path.join(root, name), lastYear, lastYear);
  await openScratchDirectory(root).maintain();
  return readdir(root);
}

async function dieWhileSigning(moment: 'asked' | 'answered') {
  await using fixture = await openCrashFixture('text-to-video');
  await using signer = await startSigningService(fixture.dataDir);
  const env = { ...fixture.env, ...signer.env };
  const story = purchase(fixture, apiBuyer);
  await using service = await startServiceProcess(env);
  signer.onStep((now) => now === moment && service.process.kill('SIGKILL'));
  await story.prepare?.(service.url);
  const response = await story.act(service.url).catch(() => undefined);
  await until(async () => service.process.signalCode === 'SIGKILL');
  const scratch = path.join(fixture.dataDir, 'scratch');
  const left = await readdir(scratch, { recursive: true });
  assert.ok(left.some((name) => name.endsWith('-output')));
  await fixture.expireLeases();
  await using next = await startServiceProcess(env);
  await story.check(next.url, response);
  await next.kill('SIGTERM');
  assert.equal((await foldersLeft(scratch)).length, 1, 'that of the sweep itself');
}

const skipUnless = (isSampled: boolean) => !isSampled && unlessLong;

describe('a service killed at any point of a request', { concurrency: 2 }, () => {
  for (const [title, mode, makeBuyer, isSampled] of PURCHASES) {
    const skip = skipUnless(isSampled);
    test(`makes one video and charges it once, ${title}`, { skip }, async (t) => {
      await using fixture = await openCrashFixture(mode);
      const open = async () => purchase(fixture, makeBuyer);
      await crashAtManyPoints(t, fixture, { leastPoints: 40, open });
    });
  }
  test('makes one video and charges it once, by the third connection of its route', {
    skip: skipUnless(seed % 8 === 3),
  }, async (t) => {
    await using opened = await openCrashFixture('text-to-video');
    const fixture = await routed(opened, 'http://127.0.0.1:1'); // refuses each connect
    const open = async () => {
      await sql(fixture.database.db, 'delete from provider_outages'); // each is tried again
      const story = purchase(fixture, apiBuyer);
      const check: Story['check'] = async (url, response) => {
        const isRefunded = await decideHeld(fixture, story.mark);
        if (!isRefunded) await story.check(url, response);
      };
      return { ...story, check };
    };
    await crashAtManyPoints(t, fixture, { leastPoints: 40, open });
  });
  test('makes one video and charges it once, after a job that failed at another connection', {
    skip: unlessLong,
  }, async (t) => {
    await using opened = await openCrashFixture('text-to-video');
    await using folder = await temporaryFolder();
    const simulator = await startSimulator('ark', folder.path, ['--job-seconds', '0.1']);
    t.after(() => simulator.kill());
    const fails = { kind: 'fails', code: 'InternalServiceError' } as const;
    await simulator.plan({ faults: [fails], times: 1e6 });
    const fixture = await routed(opened, `${simulator.url}/api/v3`);
    const { db } = fixture.database;
    await sql(db, `update routes set steps = steps - 1`); // without `second`
    const open = async () => {
      const story = purchase(fixture, apiBuyer);
      const check: Story['check'] = async (url, response) => {
        const isRefunded = await decideHeld(fixture, story.mark);
        const isFinal = isRefunded || (await failedAfterAdoption(fixture, story.mark));
        if (!isFinal) await story.check(url, response);
      };
      return { ...story, check };
    };
    await crashAtManyPoints(t, fixture, { leastPoints: 40, open });
    const retried = await sql(db, `select from attempts where state = 'replaced'`);
    assert.ok(retried.length > 0);
  });
  test('makes one video and charges it once, after a review', {
    skip: skipUnless(seed % 8 === 7),
  }, async (t) => {
    await using opened = await openCrashFixture('text-to-video');
    const moderator = await startModeratingService();
    t.after(() => moderator.close());
    moderator.says(REVIEW);
    const hosts = `${opened.env.OUTBOUND_ALLOW},${moderator.host}`;
    const env = { ...opened.env, ...moderator.env, OUTBOUND_ALLOW: hosts };
    const fixture = { ...opened, env };
    const open = async () => reviewed(fixture, moderator);
    await crashAtManyPoints(t, fixture, { leastPoints: 40, open });
  });
  for (const [i, moment] of (['asked', 'answered'] as const).entries()) {
    const skip = skipUnless(seed % 8 === 4 + i);
    test(`makes one video and charges it once, when its signer was ${moment}`, { skip }, () =>
      dieWhileSigning(moment),
    );
  }
  for (const [i, { title, leastPoints, hasBucket, open }] of CUSTOMER_LIVES.entries()) {
    const skip = skipUnless(seed % 2 === 1 && (seed >> 1) % CUSTOMER_LIVES.length === i);
    test(title, { skip }, async (t) => {
      await using fixture = await openCrashFixture('image-to-video', hasBucket);
      await crashAtManyPoints(t, fixture, { leastPoints, open: () => open(fixture) });
    });
  }
});
