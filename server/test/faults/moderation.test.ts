import assert from 'node:assert/strict';
import { decideReview } from '../../src/moderation/review.ts';
import { audit } from '../../src/operator/audit.ts';
import { client, SMALLEST } from '../client.ts';
import { makeCustomer } from '../customer.ts';
import { createTestDatabase } from '../database.ts';
import { longTest } from '../long.ts';
import { ALLOW, DENY, NO_VERDICT, REVIEW, startModeratingService } from '../moderating-service.ts';
import { startServiceProcess } from '../service/service-process.ts';
import { sql } from '../task-fixtures.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { until } from '../until.ts';

const FAULTS = ['slow', 'dead', 'lying', 'huge', 'redirecting'];
const CREATES = 20; // of each

/** A running service whose requests are moderated. */
async function openModerated(cleanup: AsyncDisposableStack, own: Record<string, string>) {
  const { db, url, close } = await createTestDatabase();
  cleanup.defer(close);
  const moderator = await startModeratingService();
  cleanup.defer(() => moderator.close());
  const folder = cleanup.use(await temporaryFolder());
  const service = cleanup.use(
    await startServiceProcess({
      DATABASE_URL: url,
      DATA_DIR: folder.path,
      ...moderator.env,
      ...own,
    }),
  );
  return {
    db,
    moderator,
    customer: async () => client(service.url, (await makeCustomer(db, 100_000)).secret),
    /** Waits until no task is live but those in review. */
    async ended() {
      const text = `select count(*)::int as n from tasks where due_at is not null and phase <> 'review'`;
      await until(async () => (await sql<{ n: number }>(db, text))[0]?.n === 0);
    },
    async count(from: string) {
      return (await sql<{ n: number }>(db, `select count(*)::int as n from ${from}`))[0]?.n;
    },
  };
}

longTest(
  'with a service that is slow, dead, lying, huge or redirecting, a hundred tasks wait for its verdict and lose nothing',
  async (t) => {
    const cleanup = new AsyncDisposableStack();
    t.after(() => cleanup.disposeAsync());
    const own = { CREATE_WAIT_SECONDS: '0.1', MODERATION_TIMEOUT_SECONDS: '0.5' };
    const { db, moderator, count, ...moderated } = await openModerated(cleanup, own);
    let videos = 0;
    for (const fault of FAULTS) {
      moderator.says(NO_VERDICT[fault] ?? assert.fail(fault));
      const asked = moderator.received.length;
      const customer = await moderated.customer();
      const creates = Array.from({ length: CREATES }, () => customer.create(SMALLEST));
      const statuses = (await Promise.all(creates)).map(({ status }) => status);
      assert.deepEqual(statuses, Array(CREATES).fill(202), fault);
      await until(
        async () => (await count('provider_outages where closed_until is not null')) === 1,
      );
      const questions = moderator.received.length - asked;
      t.diagnostic(`${fault}: ${questions} questions about ${CREATES} tasks`);
      assert.equal(await count(`tasks where phase = 'submitting'`), CREATES, fault);
      assert.equal(await count('attempts'), videos, `${fault}: no provider saw a task`);
      moderator.says(ALLOW);
      await sql(db, 'delete from provider_outages');
      await sql(db, 'update tasks set due_at = clock_now() where due_at > clock_now()');
      await moderated.ended();
      videos += CREATES;
      assert.equal(await count(`tasks where phase = 'completed'`), videos, fault);
    }
    assert.equal(await count('attempts'), videos, 'one submit each');
    const verdict = `moderation_verdicts where verdict = 'allow' and source = 'service'`;
    assert.equal(await count(verdict), videos);
    assert.deepEqual(await audit(db), { ok: true, problems: [] });
  },
);

longTest(
  'a denied create is 400 with its refund; one in review is 202, and goes on when it is allowed',
  async (t) => {
    const cleanup = new AsyncDisposableStack();
    t.after(() => cleanup.disposeAsync());
    const { db, moderator, ...moderated } = await openModerated(cleanup, {});
    const customer = await moderated.customer();
    moderator.says(DENY);
    const denied = await customer.create(SMALLEST, 'denied');
    assert.equal(denied.status, 400);
    const { reason, credits, charged } = denied.body.error.details;
    assert.deepEqual([reason, credits, charged], ['content_refused', 'refunded', 'refunded']);
    const again = await customer.create(SMALLEST, 'denied');
    assert.deepEqual([again.status, again.body.error.code], [200, 'content_refused']);
    moderator.says(REVIEW);
    const startedAt = performance.now();
    const { status, body } = await customer.create(SMALLEST);
    assert.deepEqual([status, body.status], [202, 'processing']);
    assert.ok(performance.now() - startedAt < 10_000, 'before the end of the wait');
    const decision = { verdict: 'allow', reason: 'ticket 91' } as const;
    await db.transaction((tx) => decideReview(tx, body.id, decision));
    await moderated.ended();
    assert.equal((await customer.task(body.id)).body.status, 'completed');
    assert.equal(moderator.received.length, 2);
    assert.deepEqual(await audit(db), { ok: true, problems: [] });
  },
);
