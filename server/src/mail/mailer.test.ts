import assert from 'node:assert/strict';
import { after, beforeEach, test } from 'node:test';
import { startSimulatedMail } from '../../../simulators/mail/mail.ts';
import { recordingLog } from '../../test/recording-log.ts';
import { until } from '../../test/until.ts';
import { openMailer } from './mailer.ts';

const MAIL = { to: 'eve@example.org', subject: 'Hello', text: 'One line.\n\nAnother: 5 €.' };

const server = await startSimulatedMail();
after(() => server.close());
const serverPort = Number(new URL(server.url).port);
const { log, lines } = recordingLog();

/** A mailer that tries twice. */
function open({ port = serverPort, pauseMs = 1, timeoutMs = 10_000, sender = () => ({}) } = {}) {
  const from = 'Framewright <no-reply@example.org>';
  const settings = { host: '127.0.0.1', port, isTls: false, login: undefined, from };
  return openMailer({ settings, log, sender, pausesMs: [0, pauseMs], timeoutMs });
}

const mailer = open();
after(() => mailer.close());
beforeEach(() => server.behave('take'));

test('a mail reaches the server as it was written', async () => {
  assert.equal(await mailer.sendMail(MAIL), true);
  const { from, to, subject, text } = await server.mailTo(MAIL.to);
  assert.equal(from, 'no-reply@example.org');
  assert.deepEqual(to, [MAIL.to]);
  assert.equal(subject, MAIL.subject);
  assert.equal(text.trim(), MAIL.text);
  assert.deepEqual(lines, []);
});

test("a brand's name, with any characters, is in one header and in the signature", async (t) => {
  const names = [
    'Ada Films',
    'Ada, Bob & Co.',
    'Evil" <eve@example.org>, "',
    'Ada\r\nBcc: eve@example.org',
    '映画 Films '.repeat(6).trim(),
    '=?utf-8?Q?Ada?=',
  ];
  for (const name of names) {
    const branded = open({ sender: () => ({ name, supportEmail: 'help@example.org' }) });
    t.after(() => branded.close());
    const before = server.mails.length;
    await branded.sendMail({ ...MAIL, id: 'mail_2' });
    const [sent, ...others] = server.mails.slice(before);
    assert.deepEqual([sent?.from, sent?.to, others], ['no-reply@example.org', [MAIL.to], []]);
    assert.match(sent?.sender ?? '', /^[\x20-\x7e]+ <no-reply@example\.org>$/);
    const [, shown = ''] = /^(.*) <no-reply@example\.org>$/.exec(sent?.sender ?? '') ?? [];
    assert.match(shown, /^([\w ]+|"(\\.|[^"\\])*"|(=\?[^ ?]+\?[QB]\?[^ ?]*\?= ?)+)$/i, name);
    assert.equal(sent?.replyTo, 'help@example.org');
    assert.equal(sent?.id, '<mail_2@example.org>');
    if (!name.includes('\n')) assert.ok(sent?.text.endsWith(`\n-- \n${name}\nhelp@example.org\n`));
  }
});

test('an address with a comma is one address', async () => {
  const before = server.mails.length;
  await mailer.sendMail({ ...MAIL, to: 'eve@example.org,mallory@example.org' });
  const others = server.mails.slice(before).flatMap(({ to }) => to);
  assert.ok(!others.includes('mallory@example.org'), others.join(' '));
});

test('a busy server is asked again, one that refuses is not', async () => {
  for (const [behaviour, expected] of [
    ['busy', 2],
    ['refuse', 1],
  ] as const) {
    const before = server.tries();
    server.behave(behaviour);
    assert.equal(await mailer.sendMail(MAIL), false);
    assert.equal(server.tries() - before, expected, behaviour);
  }
});

test('a send to a server that never responds, or does not exist, returns false', async () => {
  server.behave('hang');
  for (const port of [serverPort, 1]) {
    const impatient = open({ port, timeoutMs: 200 });
    assert.equal(await impatient.sendMail(MAIL), false);
    await impatient.close();
  }
});

test('a shutdown does not wait for a pause between two tries', async () => {
  server.behave('busy');
  const patient = open({ pauseMs: 600_000 });
  const before = server.tries();
  const sent = patient.sendMail(MAIL);
  await until(async () => server.tries() > before, Boolean, 10);
  await patient.close();
  assert.equal(await sent, false);
});

test('without a server mails are printed, and the start says so', async () => {
  const recording = recordingLog();
  const printing = openMailer({ settings: undefined, log: recording.log });
  assert.match(recording.lines.join(''), /SMTP_URL is not set/);
  assert.equal(printing.isLogged, true);
  assert.equal(await printing.sendMail(MAIL), true);
  assert.match(recording.lines.join(''), /Another: 5 €/);
  await printing.close();
});
