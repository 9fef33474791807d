import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { newWebhookSecret, signatureHeaders } from './signature.ts';

interface Delivery {
  what: string;
  secret: string;
  headers: Record<string, string>;
  body: string;
  isGenuine: boolean;
}

const page = readFileSync(new URL('../../../docs/customers/webhooks.md', import.meta.url), 'utf8');

/** The program that the page for customers shows in a tab. */
function programOf(tab: string): string {
  const [, program] = new RegExp(`^\`\`\`\\w+ tab=${tab}\n(.*?)^\`\`\``, 'ms').exec(page) ?? [];
  assert.ok(program, `docs/customers/webhooks.md has a program for ${tab}`);
  return program;
}

/** What a verifier must let pass, and what not. */
function deliveries(): Delivery[] {
  const [secret, other] = [newWebhookSecret(), newWebhookSecret()];
  const body = '{"prompt":"Bühne \u{1f3ac}"}';
  const timestamp = Math.floor(Date.now() / 1000);
  const message = { eventId: 'evt_1', timestamp, body };
  const headers: Record<string, string> = signatureHeaders(message, [other, secret]);
  const old = signatureHeaders({ ...message, timestamp: timestamp - 400 }, [secret]);
  const signatures = headers['webhook-signature'] ?? '';
  const changes = [
    { 'webhook-id': 'evt_2' },
    { 'webhook-timestamp': String(timestamp + 1) },
    { 'webhook-timestamp': 'now' },
    { 'webhook-signature': '' },
    { 'webhook-signature': 'v1,ü' },
    { 'webhook-signature': signatures.replaceAll('v1,', 'v2,') },
  ];
  const good = { what: 'of a secret', secret, headers, body, isGenuine: true };
  const bad = { ...good, isGenuine: false };
  return [
    good,
    { ...good, what: 'of the other secret', secret: other },
    { ...bad, what: 'of a foreign secret', secret: newWebhookSecret() },
    { ...bad, what: 'another body', body: `${body} ` },
    { ...bad, what: 'an old delivery', headers: { ...old } },
    { ...bad, what: 'no headers', headers: {} },
    ...changes.map((change) => ({
      ...bad,
      what: JSON.stringify(change),
      headers: { ...headers, ...change },
    })),
  ];
}

test('the verifier in Node on the page for customers accepts our signatures and no others', async () => {
  const url = `data:text/javascript,${encodeURIComponent(programOf('Node'))}`;
  const { isGenuine } = (await import(url)) as {
    isGenuine(secret: string, headers: Record<string, string>, body: string): boolean;
  };
  for (const { what, secret, headers, body, isGenuine: expected } of deliveries()) {
    assert.equal(isGenuine(secret, headers, body), expected, what);
  }
});

/** Asks the program above it about each delivery in the input. */
const ASK = `
import json, sys
for secret, headers, body in json.load(sys.stdin):
    print(is_genuine(secret, headers, body.encode()))`;

const skip = spawnSync('python3', ['--version']).status !== 0 && 'there is no python3';
test('so does the one in Python', { skip }, () => {
  const cases = deliveries();
  const input = JSON.stringify(cases.map(({ secret, headers, body }) => [secret, headers, body]));
  const command = ['-c', programOf('Python') + ASK];
  const { stdout, stderr } = spawnSync('python3', command, { input, encoding: 'utf8' });
  const expected = cases.map(({ isGenuine }) => (isGenuine ? 'True' : 'False'));
  assert.deepEqual(stdout.trim().split('\n'), expected, stderr);
});
