import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openRecentMinutes } from './recent-minutes.ts';

const READ = { route: '/api/v1/tasks/:id', status: 200 };

test('responses of the public API are counted by minute, with their errors and times', () => {
  let now = 600_000;
  const recent = openRecentMinutes(() => now);
  for (let i = 0; i < 98; i += 1) recent.countResponse({ ...READ, seconds: 0.004 });
  for (let i = 0; i < 4; i += 1) recent.countResponse({ ...READ, seconds: 0.9 });
  recent.countResponse({ ...READ, status: 503, seconds: 9 });
  recent.countResponse({ ...READ, status: 429, seconds: 0 });
  recent.countResponse({ route: '/console/api/me', status: 500, seconds: 9 });
  recent.countResponse({ route: '/api/v1/video/generations', status: 202, seconds: 2 });
  recent.countProviderCall({ outcome: 'accepted' });
  recent.countProviderCall({ outcome: 'unknown' });
  now += 60_000;
  recent.noteFigures({
    live: [
      { phase: 'held', tasks: 2, credits: 1, oldest_seconds: 1 },
      { phase: 'generating', tasks: 3, credits: 1, oldest_seconds: 1 },
    ],
    held: [{ cause: 'outcome', tasks: 2, credits: 1, oldest_seconds: 1 }],
    due: [],
  });
  const [first, second, ...more] = recent.list();
  assert.deepEqual(more, []);
  assert.deepEqual([first?.at, first?.responses, first?.errors, first?.limited], [600, 105, 1, 1]);
  assert.deepEqual([first?.calls, first?.failed_calls, first?.due], [2, 1, null]);
  assert.ok(first?.read_p50 && first.read_p50 >= 4 && first.read_p50 < 5);
  assert.ok(first?.read_p95 && first.read_p95 < 5, 'the slow ones are less than a twentieth');
  assert.ok(first?.create_p95 && first.create_p95 >= 2000 && first.create_p95 < 2500);
  assert.deepEqual([second?.live, second?.held, second?.due, second?.read_p50], [5, 2, 0, null]);
});

test('two hours are kept', () => {
  let now = 0;
  const recent = openRecentMinutes(() => now);
  for (; now < 200 * 60_000; now += 60_000) recent.countResponse({ ...READ, seconds: 0 });
  const kept = recent.list();
  assert.deepEqual([kept.length, kept[0]?.at, kept.at(-1)?.at], [120, 80 * 60, 199 * 60]);
});
