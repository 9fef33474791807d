import assert from 'node:assert/strict';
import { audit } from '../../src/operator/audit.ts';
import { client, SMALLEST } from '../client.ts';
import { makeCustomer } from '../customer.ts';
import { createTestDatabase } from '../database.ts';
import { longTest } from '../long.ts';
import { ALLOW, NO_VERDICT, startModeratingService } from '../moderating-service.ts';
import { startServiceProcess } from '../service/service-process.ts';
import { sql } from '../task-fixtures.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { until } from '../until.ts';

const FAULTS = ['slow', 'dead', 'lying', 'huge', 'redirecting'];
const CREATES = 20; // of each

longTest(
  'with a service that is slow, dead, lying, huge or redirecting, a hundred tasks wait for its verdict and lose nothing',
  async (t) => {
    const { db, url, close } = await createTestDatabase();
    t.after(close);
    const moderator = await startModeratingService();
    t.after(() => moderator.close());
    await using folder = await temporaryFolder();
    await using service = await startServiceProcess({
      DATABASE_URL: url,
      DATA_DIR: folder.path,
      ...moderator.env,
      CREATE_WAIT_SECONDS: '0.1',
      MODERATION_TIMEOUT_SECONDS: '0.5',
    });
    const count = async (from: string) =>
      (await sql<{ n: number }>(db, `select count(*)::int as n from ${from}`))[0]?.n;
    let videos = 0;
    for (const fault of FAULTS) {
      moderator.says(NO_VERDICT[fault] ?? assert.fail(fault));
      const asked = moderator.received.length;
      const customer = client(service.url, (await makeCustomer(db, 100_000)).secret);
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
      await until(async () => (await count('tasks where due_at is not null')) === 0);
      videos += CREATES;
      assert.equal(await count(`tasks where phase = 'completed'`), videos, fault);
    }
    assert.equal(await count('attempts'), videos, 'one submit each');
    const verdict = `moderation_verdicts where verdict = 'allow' and source = 'service'`;
    assert.equal(await count(verdict), videos);
    assert.deepEqual(await audit(db), { ok: true, problems: [] });
  },
);
