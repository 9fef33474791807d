import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';
import { openTestDatabase } from '../../test/database.ts';
import { recordingLog } from '../../test/recording-log.ts';
import { sql } from '../../test/task-fixtures.ts';
import type { SendMail } from './mailer.ts';
import { eraseOf, mailOwner, type OutboxDeps, sendDueMails, wakeMails } from './outbox.ts';

const MAIL = { accountId: 'acct_1', subject: 'Hello', text: 'A key was created.' };

let sent: Array<Parameters<SendMail>[0]>;
let isAccepted: boolean;
let lines: string[];
let deps: OutboxDeps;

const database = await openTestDatabase();
beforeEach(async () => {
  await database.setClock(0);
  await sql(database.db, 'delete from mails');
  sent = [];
  isAccepted = true;
  const recording = recordingLog();
  lines = recording.lines;
  deps = {
    db: database.db,
    log: recording.log,
    addressOf: async (accountId) => (accountId === 'acct_1' ? 'ada@example.com' : undefined),
    sendMail: async (mail) => {
      sent.push(mail);
      return isAccepted;
    },
  };
});

const write = (mail = MAIL) => database.db.transaction((tx) => mailOwner(tx, mail));
const waitingMails = () => sql<{ id: string }>(database.db, 'select id from mails');

test('a mail is sent after the commit of its cause, by one of many processes', async () => {
  const failed = database.db.transaction(async (tx) => {
    await mailOwner(tx, MAIL);
    throw new Error('the act failed');
  });
  await assert.rejects(failed, /the act failed/);
  await write();
  await Promise.all([1, 2, 3].map(() => sendDueMails(deps)));
  const [{ id, ...mail } = {}, ...more] = sent;
  assert.match(id ?? '', /^mail_/);
  assert.deepEqual(mail, { to: 'ada@example.com', subject: MAIL.subject, text: MAIL.text });
  assert.deepEqual(more, []);
  assert.deepEqual(await waitingMails(), []);
});

test('a mail whose process dies while it sends is sent again, with the same id', async () => {
  await write();
  const sending = Promise.withResolvers<void>();
  const end = Promise.withResolvers<boolean>();
  const dying = sendDueMails({
    ...deps,
    sendMail: (mail) => {
      sent.push(mail);
      sending.resolve();
      return end.promise;
    },
  });
  await sending.promise;
  await sendDueMails(deps);
  assert.equal(sent.length, 1, 'it may be on its way');
  await database.setClock(301);
  await sendDueMails(deps);
  const [first, second, ...more] = sent;
  assert.equal(first?.id, second?.id);
  assert.deepEqual(more, []);
  end.resolve(false);
  await dying;
});

test('a mail that is not taken is tried with growing pauses, and dropped after two days', async () => {
  isAccepted = false;
  await write();
  const tries: number[] = [];
  for (let minutes = 0; minutes <= 72 * 60; minutes += 5) {
    await database.setClock(minutes * 60);
    await sendDueMails(deps);
    if (sent.splice(0).length > 0) tries.push(minutes);
  }
  assert.deepEqual(tries.slice(0, 5), [0, 5, 15, 35, 75]);
  assert.ok((tries.at(-1) ?? 0) < 56 * 60, `${tries}`);
  assert.deepEqual(await waitingMails(), []);
  assert.match(lines.join(''), /a mail was dropped after 48 hours/);
});

test('a clock that is set back holds up no mail', async () => {
  isAccepted = false;
  await database.setClock(86_400);
  await write();
  await sendDueMails(deps);
  await database.setClock(0);
  await wakeMails(database.db);
  await sendDueMails(deps);
  assert.equal(sent.length, 2);
});

test('an erased account gets no mail, and its waiting mails are deleted', async () => {
  await write();
  await database.db.transaction((tx) => eraseOf(tx, MAIL.accountId));
  assert.deepEqual(await waitingMails(), []);
  await write({ ...MAIL, accountId: 'acct_erased' });
  await sendDueMails(deps);
  assert.deepEqual([sent, await waitingMails()], [[], []]);
});
