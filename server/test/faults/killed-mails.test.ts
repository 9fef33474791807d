import assert from 'node:assert/strict';
import { startSimulatedMail } from '../../../simulators/mail/mail.ts';
import { beginSession } from '../../src/sign-in/sessions.ts';
import { makeCustomer } from '../customer.ts';
import { createTestDatabase } from '../database.ts';
import { longTest } from '../long.ts';
import { startServiceProcess } from '../service/service-process.ts';
import { sql } from '../task-fixtures.ts';
import { until } from '../until.ts';

/** Longer than the pause after the first try. */
const PAST_PAUSE_SECONDS = 301;

longTest(
  'a key is created, and its mail arrives although every process is killed first',
  async () => {
    const database = await createTestDatabase();
    const server = await startSimulatedMail();
    server.behave('hang');
    try {
      const env = { DATABASE_URL: database.url, SMTP_URL: server.url, MAIL_FROM: 'a@example.com' };
      const { accountId } = await makeCustomer(database.db, 0);
      const select = 'select email from accounts where id = $1';
      const [account] = await sql<{ email: string }>(database.db, select, [accountId]);
      const from = { method: 'code', network: null, browser: null };
      const token = await beginSession(database.db, accountId, from);
      const killed = await startServiceProcess(env);
      const response = await fetch(`${killed.url}/console/api/keys`, {
        method: 'POST',
        headers: {
          cookie: `framewright=${token}`,
          origin: killed.url,
          'content-type': 'application/json',
        },
        body: '{"name":"a key"}',
      });
      assert.equal(response.status, 201, await response.text());
      await until(
        async () => server.tries(),
        (tries) => tries > 0,
      );
      await killed.kill('SIGKILL');
      assert.equal(server.mails.length, 0);
      server.behave('take');
      await database.setClock(PAST_PAUSE_SECONDS);
      await using _service = await startServiceProcess(env);
      const [mail] = await until(
        async () => server.mails,
        (mails) => mails.length > 0,
      );
      assert.deepEqual(mail?.to, [account?.email]);
      assert.match(mail?.subject ?? '', /^An API key was created: key_/);
    } finally {
      await server.close();
      await database.close();
    }
  },
);
