import assert from 'node:assert/strict';
import { test } from 'node:test';
import { requireOwnOrigin } from './origin.ts';

const PUBLIC_URL = 'https://video.example.com';

function passes(method: string, headers: Record<string, string>): boolean {
  try {
    requireOwnOrigin({ method, headers }, PUBLIC_URL);
    return true;
  } catch {
    return false;
  }
}

test('what changes something must come from a page of ours', () => {
  for (const method of ['POST', 'PUT', 'PATCH', 'DELETE']) {
    assert.ok(passes(method, { origin: PUBLIC_URL }));
    assert.ok(passes(method, { 'sec-fetch-site': 'same-origin' }));
    for (const origin of ['https://evil.example', 'null', 'http://video.example.com', '']) {
      assert.ok(!passes(method, { origin, 'sec-fetch-site': 'same-origin' }), origin);
    }
    for (const site of ['cross-site', 'same-site', 'none', '']) {
      assert.ok(!passes(method, { 'sec-fetch-site': site }), site);
    }
    assert.ok(!passes(method, {}));
  }
});

test('what only reads may come from anywhere', () => {
  assert.ok(passes('GET', { origin: 'https://evil.example' }));
  assert.ok(passes('HEAD', { 'sec-fetch-site': 'cross-site' }));
});
