import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';
import { stripVTControlCharacters } from 'node:util';
import { newSecret } from '../accounts/api-keys.ts';
import { newToken } from '../sign-in/sessions.ts';
import { newWebhookSecret } from '../webhooks/signature.ts';
import { randomBase62 } from './ids.ts';
import { redact } from './log.ts';

const MODULE = new URL('./log.ts', import.meta.url).href;

/** The standard output of a separate process that runs this script. */
function logged(script: string, options: { terminal?: boolean } = {}): string {
  const settings = JSON.stringify({ level: 'info', ...options });
  const source = `import { createLog } from ${JSON.stringify(MODULE)};
    const log = createLog(${settings});
    ${script}`;
  const child = spawnSync(process.execPath, ['--input-type=module', '-e', source], {
    encoding: 'utf8',
  });
  assert.equal(child.status, 0, child.stderr);
  return child.stdout;
}

test('a line in a terminal has no control characters of a text, and one line for its fields', () => {
  const hostile = 'a\\u001b]0;x\\u0007b\\u009bc\\nd\\u202e';
  const script = `log.warn({ url: '${hostile}', err: new Error('${hostile}') }, 'a text\\nof ours')`;
  const text = stripVTControlCharacters(logged(script, { terminal: true }));
  const shown = 'a\\u001b]0;x\\u0007b\\u009bc\\u000ad\\u202e';
  const [, first, ...trace] = text.split('\n');
  assert.equal(first, `of ours url=${shown}`);
  assert.doesNotMatch(trace.join(''), /[\p{Cc}\u202e]/u);
});

const SECRET = newSecret();
const URL_WITH_PASSWORD = 'postgres://ada:hunter2@db.example/framewright';
const HOSTILE = `
  const secret = ${JSON.stringify(SECRET)};
  const url = ${JSON.stringify(URL_WITH_PASSWORD)};
  log.info({ secret, databaseUrl: url, apiKey: 'k-123456', password: 'pw-123456' }, 'fields');
  log.info({ req: { headers: { authorization: 'Basic c2VjcmV0' } } }, 'nested');
  log.info('in the text: ' + secret + ' and ' + url);
  log.info({ deep: { down: { where: { none: { looks: 'Bearer ' + secret } } } } }, 'deep');
  log.info({ link: 'https://x/media/obj.mp4?expires=1&signature=Abc-_123' }, 'link');
  log.info({ url: 'https://x/callbacks/ark/TOKEN123?a=b' }, 'callback');
  log.error({ err: new Error('failed at ' + url, { cause: new Error(secret) }) }, 'error');`;

test('secrets, passwords, link signatures and callback paths never reach a log', () => {
  for (const terminal of [false, true]) {
    const text = logged(HOSTILE, { terminal });
    const others = ['hunter2', 'k-123456', 'pw-123456', 'c2VjcmV0', 'Abc-_123', 'TOKEN123'];
    for (const secret of [SECRET, ...others])
      assert.ok(!text.includes(secret), `${secret} in ${text}`);
    assert.match(text, /redacted/);
  }
});

test('redaction keeps the text around a secret', () => {
  assert.equal(redact(`key ${SECRET}.`), 'key fw_live_[redacted].');
  assert.equal(redact('a?expires=5&signature=xYz&b=1'), 'a?expires=5&signature=[redacted]&b=1');
  assert.equal(redact(`/s/${'A'.repeat(46)}/a`), `/s/${'A'.repeat(24)}[redacted]/a`);
  assert.equal(redact('/auth/return/oidc?code=x-Y.z&b=1'), '/auth/return/oidc?code=[redacted]&b=1');
  const plain = 'GET /api/v1/tasks/task_1 postgres://host/db';
  assert.equal(redact(plain), plain);
  const url = 'POSTGRES://ada:hun@ter@2@db.example/framewright';
  assert.equal(redact(`"${url}"`), '"POSTGRES://ada:[redacted]@db.example/framewright"');
});

test('no text takes long to redact', () => {
  const startedAt = process.cpuUsage();
  redact('postgres://'.repeat(20_000));
  const { user } = process.cpuUsage(startedAt);
  assert.ok(user < 2_000_000, `${user / 1e6} s`);
});

const base62 = (prefix: string) => () => prefix + randomBase62(40);

/** Each kind of secret: how it stands in a text, and where its secret part begins. */
const KINDS: Record<string, () => string> = {
  fw_live_: () => newSecret(),
  fw_test_: () => newSecret('test'),
  whsec_: newWebhookSecret,
  sk_live_: base62('sk_live_'),
  rk_test_: base62('rk_test_'),
  r8_: base62('r8_'),
  'sk-or-v1-': base62('sk-or-v1-'),
  'framewright=': () => `framewright=${newToken()}`,
  '__Host-framewright=': () => `__Host-framewright=${newToken()}`,
  'framewright-start=': () => `framewright-start=${newToken()}`,
  'X-Amz-Signature=': () => `X-Amz-Signature=${Buffer.from(randomBase62(32)).toString('hex')}`,
  '/callbacks/ark/': () => `/callbacks/ark/${newToken()}`,
};

const url = (text: string) => `https://a.example/x?next=${encodeURIComponent(text)}&b=1`;
const ENCODINGS: Record<string, (text: string) => string> = {
  text: (text) => `it came with ${text}, twice`,
  JSON: (text) => JSON.stringify({ deep: JSON.stringify({ text }) }),
  'a URL': url,
  'a URL in a URL': (text) => url(url(text)),
};

function decoded(text: string): string {
  const next = decodeURIComponent(text);
  return next === text ? text : decoded(next);
}

for (const [kind, draw] of Object.entries(KINDS)) {
  test(`no part of ${kind} is left in a line, however it is written`, () => {
    for (const encode of Object.values(ENCODINGS)) {
      for (let i = 0; i < 20; i++) {
        const secret = draw();
        const left = decoded(redact(encode(secret)));
        assert.match(left, /redacted/);
        for (const part of secret.slice(kind.length).match(/.{4}/g) ?? []) {
          assert.ok(!left.includes(part), `${part} of ${secret} is left: ${left}`);
        }
      }
    }
  });
}

test('a secret that contains the beginning of another one is redacted whole', () => {
  assert.equal(redact('/callbacks/ark/aHR8_f-4EK.'), '/callbacks/[redacted]');
  assert.equal(redact('whsec_aR8_b+c/d='), 'whsec_[redacted]');
});

test('a line that is written right before the end of the process is not lost', () => {
  assert.match(logged(`log.fatal('the last line'); process.exit();`), /the last line/);
});
