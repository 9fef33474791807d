import assert from 'node:assert/strict';
import { test } from 'node:test';
import { browserName } from './tell-owner.ts';

const AGENTS: Array<[string, string | null]> = [
  ['Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0', 'Firefox on Linux'],
  [
    'Mozilla/5.0 (Windows NT 10.0; Win64) AppleWebKit/537.36 Chrome/140.0 Safari/537.36 Edg/140.0',
    'Edge on Windows',
  ],
  [
    'Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) Version/18.0 Mobile Safari/604.1',
    'Safari on iOS',
  ],
  ['Mozilla/5.0 (Linux; Android 15) Chrome/140.0 Mobile Safari/537.36', 'Chrome on Android'],
  ['curl/8.5.0', null],
  ['<script>alert(1)</script> Linux', 'A browser on Linux'],
  ['', null],
];

test('the name of a browser quotes nothing from the header', () => {
  for (const [agent, name] of AGENTS) assert.equal(browserName(agent), name, agent);
});
