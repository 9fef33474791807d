import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { test } from 'node:test';
import { assertError } from '../../../test/envelope.ts';
import { blackPng } from '../../../test/media/image-parts.ts';
import { temporaryFolder } from '../../../test/temporary-folder.ts';
import { openTestWebsite } from '../../../test/website/website.ts';
import { createKey } from '../../accounts/api-keys.ts';
import type { Brand } from '../../brand/brand.ts';
import { readBrandSettings } from '../../brand/stored-brand.ts';
import { parseCommandLine } from '../../cli/command-line.ts';
import { listActions } from '../../operator/actions.ts';

const NAME = 'Ada’s "Films" <b>';
const fixed = { color: '#1a6fd4' };
const brand = { current: (): Brand => ({ name: NAME, ...fixed }), fixed };
const website = await openTestWebsite({ brand });
const { db } = website.database;
const operator = await website.signIn({ isOperator: true });
const VERBS = '/console/api/operator/verbs/brand';
const set = (given: object) => operator.write(`${VERBS}/set`, { reason: 'ours', ...given });

test('the name is in what programs and authenticators read', async () => {
  const { secret } = await createKey(db, { accountId: operator.accountId });
  const params = {
    protocolVersion: '2025-06-18',
    capabilities: {},
    clientInfo: { name: 'test', version: '1' },
  };
  const mcp = await website.app.inject({
    method: 'POST',
    url: '/mcp',
    headers: { accept: 'application/json, text/event-stream', authorization: `Bearer ${secret}` },
    payload: { jsonrpc: '2.0', id: 1, method: 'initialize', params },
  });
  const { rp } = (await operator.write('/auth/passkeys/options')).body;
  assert.deepEqual(
    [
      (await operator.get('/openapi.json')).body.info.title,
      (await operator.get('/console/api/site')).body.name,
      rp.name,
      rp.id,
    ],
    [NAME, NAME, NAME, 'localhost'],
  );
  const said = JSON.parse(/^data: (.*)$/m.exec(mcp.body)?.[1] ?? '{}').result?.serverInfo;
  assert.deepEqual([said?.name, said?.title], ['framewright', NAME], mcp.body);
});

test('an operator sets what no variable has set, by command or on the console', async () => {
  await using folder = await temporaryFolder();
  const file = `${folder.path}/logo`;
  const logo = blackPng(64, 64);
  await writeFile(file, logo);
  const changes = { terms_url: 'https://example.com/terms', logo: logo.toString('base64') };
  assert.equal((await set(changes)).body.changed, true);
  assert.equal((await set(changes)).body.changed, false);
  const line = ['brand', 'set', '--logo', file, '--terms-url', 'none', '--name', 'Ada'];
  const command = await parseCommandLine(line);
  assert.deepEqual(await command.run({ db, fixedBrand: async () => fixed }), { changed: true });
  assert.deepEqual(await readBrandSettings(db), { name: 'Ada', logo: changes.logo });
  const { items } = (await operator.get(`${VERBS}/show`)).body;
  assert.deepEqual(items.slice(0, 4), [
    { setting: 'name', value: 'Ada', set_by: 'operator' },
    { setting: 'logo', value: `image/png, 64x64, ${logo.length} bytes`, set_by: 'operator' },
    { setting: 'color', value: '#1a6fd4', set_by: 'BRAND_COLOR' },
    { setting: 'hero_text', value: null, set_by: 'default' },
  ]);
  const [first] = await listActions(db, { target: 'brand', limit: 1 });
  assert.equal(first?.command, 'brand set');
  assert.ok(JSON.stringify(first).length < 500, 'without the bytes of the logo');
});

test('what a brand can’t have is refused with its reason, never with a 500', async () => {
  const refused: [object, RegExp][] = [
    [{}, /nothing to change/],
    [{ color: '#ff0000' }, /set by the variable BRAND_COLOR/],
    [{ logo: 'not base64!' }, /in base64/],
    [{ name: 7 }, /must be a text/],
    [{ privacy_url: 'http://example.com' }, /https/],
    [{ motto: 'x' }, /not known here/],
  ];
  for (const [given, message] of refused) {
    const response = await set(given);
    assertError(response, 'invalid_request');
    assert.match(response.body.error.message, message);
  }
  const setting = parseCommandLine(['brand', 'set', '--logo', '/no/such/file']);
  await assert.rejects(setting, /--logo can't be read/);
});
