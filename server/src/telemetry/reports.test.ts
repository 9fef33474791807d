import assert from 'node:assert/strict';
import { test } from 'node:test';
import { onReport, report } from './reports.ts';

test('a listener gets the reports of its kind until it is removed', () => {
  const roles: string[] = [];
  const stop = onReport('vanished', ({ role }) => roles.push(role));
  report('vanished', { role: 'output' });
  report('periodic', { work: 'sweep', result: 'done', seconds: 1 });
  stop();
  report('vanished', { role: 'poster' });
  assert.deepEqual(roles, ['output']);
});
