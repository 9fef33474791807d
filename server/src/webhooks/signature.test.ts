import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
import { newWebhookSecret, signatureHeaders } from './signature.ts';

type Headers = Record<string, string>;
type IsGenuine = (secret: string, headers: Headers, body: string) => boolean;

const page = await readFile(new URL('../../../docs/webhooks.md', import.meta.url), 'utf8');

/** The program that the page for customers shows. */
function programOf(language: string): string {
  const [, program] = new RegExp(`\`\`\`${language}\n(.*?)\`\`\``, 's').exec(page) ?? [];
  assert.ok(program, `docs/webhooks.md has a program in ${language}`);
  return program;
}

/** Checks a verifier with what must pass and what must not. */
function verify(isGenuine: IsGenuine): void {
  const [secret, other] = [newWebhookSecret(), newWebhookSecret()];
  const body = '{"prompt":"Bühne \u{1f3ac}"}';
  const timestamp = Math.floor(Date.now() / 1000);
  const message = { eventId: 'evt_1', timestamp, body };
  const headers: Headers = signatureHeaders(message, [other, secret]);
  assert.equal(isGenuine(secret, headers, body), true);
  assert.equal(isGenuine(other, headers, body), true);
  assert.equal(isGenuine(newWebhookSecret(), headers, body), false);
  assert.equal(isGenuine(secret, headers, `${body} `), false);
  const old: Headers = signatureHeaders({ ...message, timestamp: timestamp - 400 }, [secret]);
  assert.equal(isGenuine(secret, old, body), false, 'an old delivery');
  const wrong = [
    { 'webhook-id': 'evt_2' },
    { 'webhook-timestamp': String(timestamp + 1) },
    { 'webhook-timestamp': 'now' },
    { 'webhook-signature': '' },
    { 'webhook-signature': 'v1,ü' },
    { 'webhook-signature': (headers['webhook-signature'] ?? '').replaceAll('v1,', 'v2,') },
  ];
  for (const change of wrong) {
    assert.equal(isGenuine(secret, { ...headers, ...change }, body), false, JSON.stringify(change));
  }
  assert.equal(isGenuine(secret, {}, body), false, 'no headers');
}

test('the verifier in Node on the page for customers accepts our signatures and no others', async () => {
  const url = `data:text/javascript,${encodeURIComponent(programOf('js'))}`;
  const { isGenuine } = (await import(url)) as { isGenuine: IsGenuine };
  verify(isGenuine);
});

const python = spawnSync('python3', ['--version']).status === 0;

test('so does the one in Python', { skip: !python && 'there is no python3' }, () => {
  const ask = `
import json, sys
given = json.load(sys.stdin)
print(is_genuine(given["secret"], given["headers"], given["body"].encode()))`;
  verify((secret, headers, body) => {
    const input = JSON.stringify({ secret, headers, body });
    const ran = spawnSync('python3', ['-c', programOf('python') + ask], { input });
    assert.equal(ran.status, 0, ran.stderr.toString());
    return ran.stdout.toString().trim() === 'True';
  });
});
