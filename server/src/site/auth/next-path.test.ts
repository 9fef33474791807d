import assert from 'node:assert/strict';
import { test } from 'node:test';
import { nextPath } from './next-path.ts';

test('a path of ours stays as it is', () => {
  for (const path of ['/', '/videos', '/videos/task_1?tab=credits#top', '/keys?a=//b', '/a%2Fb']) {
    assert.equal(nextPath(path), path);
  }
});

test('everything else leads to the first page', () => {
  const others = [
    undefined,
    '',
    'videos',
    'https://evil.example/',
    '//evil.example',
    '///evil.example',
    '/\\evil.example',
    '\\\\evil.example',
    '/\t/evil.example',
    '/\n/evil.example',
    '/.//evil.example',
    '/..//evil.example',
    '/x/..//evil.example',
    '/%2e//evil.example',
    'javascript:alert(1)',
    'data:text/html,x',
    ' //evil.example',
    '/auth/start/github',
    '/auth/return/oidc?code=1',
    '/auth',
  ];
  for (const path of others) assert.equal(nextPath(path), '/', path ?? '');
});

test('a browser stays here, whatever path it is given', () => {
  const base = 'https://video.example.com';
  for (const asked of ['/@evil.example', '/;//evil.example', '/a//b', '/%5cevil.example']) {
    assert.equal(new URL(nextPath(asked), base).origin, base, asked);
  }
});
