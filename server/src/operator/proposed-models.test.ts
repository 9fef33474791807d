import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { after, test } from 'node:test';
import { startSimulator } from '../../../simulators/kit/process.ts';
import { openTestDatabase } from '../../test/database.ts';
import { startCannedHost } from '../../test/providers/canned-host.ts';
import { openTestFolder } from '../../test/temporary-folder.ts';
import { BUILT_IN } from '../catalog/catalog.ts';
import type { VendorModel } from '../catalog/proposed-model.ts';
import { parseCommandLine } from '../cli/command-line.ts';
import { readVendorModels } from '../config/command-config.ts';
import { proposeModels } from './proposed-models.ts';

const { db } = await openTestDatabase();
const folder = await openTestFolder();
const simulator = await startSimulator('openrouter', folder.path);
after(() => simulator.kill());

const ENV = { OPENROUTER_BASE_URL: `${simulator.url}/api/v1` };

/** The arguments that a shell makes of a printed command, without the program's name. */
function argumentsOf(command: string): string[] {
  const script = command.replace(/^npx --no-install framewright/, "printf '%s\\0'");
  return execFileSync('sh', ['-c', script]).toString().split('\0').slice(0, -1);
}

async function runCommand(args: string[], env: Record<string, string> = ENV) {
  const { run } = await parseCommandLine(args);
  const listVendorModels = (provider: string, connection?: string) =>
    readVendorModels(provider, connection, env);
  return JSON.parse(JSON.stringify(await run({ db, listVendorModels })));
}

test('each model of the list gives commands within the contract, or the reason why it has none', async () => {
  const { models, left_out } = await runCommand(['models', 'import', 'openrouter']);
  const wan = models.find(({ id }: VendorModel) => id === 'alibaba/wan-3.0');
  assert.equal(
    wan.set,
    "npx --no-install framewright models set wan-3.0 --title 'Alibaba: Wan 3.0' " +
      '--price 480p=CREDITS,720p=CREDITS,1080p=CREDITS --modes text-to-video,image-to-video ' +
      '--durations 4-15 --aspect-ratios 1:1,4:3,3:4,16:9,9:16 --sound yes --seed yes ' +
      "--state hidden --reason 'models import'",
  );
  const { state, vendor_prices, dropped, lacks } = wan;
  assert.deepEqual(
    [state, vendor_prices, dropped, lacks],
    [
      'new',
      'duration_seconds_480p=0.05; duration_seconds_720p=0.1',
      'durations 2-3,16-30',
      'end_image_url',
    ],
  );
  const seedance = models.find(({ id }: VendorModel) => id === 'bytedance/seedance-2.0');
  assert.match(seedance.set, /media-to-video .*9:16,adaptive /);
  assert.equal(seedance.dropped, 'aspect_ratios 9:21');
  assert.deepEqual(left_out, [
    { id: 'minimax/hailuo-3', because: "none of the API's resolutions" },
    { id: 'runway/aleph-2', because: "none of the API's resolutions, durations" },
  ]);
});

test('the commands are refused until they have a price, then add the hidden model and its route', async () => {
  const { models } = await runCommand(['models', 'import', 'openrouter']);
  const { set, route } = models.find(({ id }: VendorModel) => id === 'alibaba/wan-3.0');
  await assert.rejects(runCommand(argumentsOf(set)), /--price/);
  const added = await runCommand(argumentsOf(set.replaceAll('CREDITS', '10')));
  const shown = [added.state, added.durations, added.dropped];
  assert.deepEqual(shown, ['hidden', '4,5,6,7,8,9,10,11,12,13,14,15', {}]);
  const { steps } = await runCommand(argumentsOf(route));
  assert.equal(steps, 'openrouter model=alibaba/wan-3.0');
  const again = await runCommand(['models', 'import', 'openrouter']);
  const known = again.models.find(({ id }: VendorModel) => id === 'alibaba/wan-3.0');
  assert.equal(known.state, 'hidden');
  assert.doesNotMatch(known.set, /--(price|title|state)/);
  assert.equal((await runCommand(argumentsOf(known.set))).changed, false);
});

test('texts of a provider are one word each for a shell, and names do not collide', () => {
  const vendor: VendorModel = {
    id: 'a/video-2.0',
    title: "It's $(id)\n`x`; rm",
    modes: ['text-to-video'],
    resolutions: ['720p'],
    durations: [5],
    aspectRatios: ['16:9'],
    sound: false,
    seed: false,
    prices: {},
    lacks: [],
  };
  const ids = ['a/video-2.0', 'a/nova', 'B/Nova', 'c/é', 'x'];
  const list = proposeModels(
    ids.map((id) => ({ ...vendor, id })),
    'openrouter',
    BUILT_IN,
  );
  const args = list.models.map(({ set }) => argumentsOf(set));
  assert.deepEqual(
    args.map(([, , name]) => name),
    ['a-video-2.0', 'a-nova', 'b-nova'],
  );
  assert.equal(args[0]?.[4], "It's $(id) `x`; rm");
  const because = "its id can't become a name";
  assert.deepEqual(list.left_out, [
    { id: 'c/é', because },
    { id: 'x', because },
  ]);
});

test('another connection has its own address; providers without a list are refused', async () => {
  const other = await startCannedHost();
  other.respond('/v1/videos/models', { json: { data: [] } });
  const env = {
    ...ENV,
    CONNECTIONS: 'second:openrouter,fal-2:fal',
    SECOND_BASE_URL: `${other.url}/v1`,
  };
  const line = ['models', 'import', 'openrouter', '--connection'];
  assert.deepEqual(await runCommand([...line, 'second'], env), { models: [], left_out: [] });
  assert.equal(other.requests[0]?.headers.authorization, undefined);
  await assert.rejects(runCommand([...line, 'fal-2'], env), /--connection must be openrouter, or/);
  const fal = runCommand(['models', 'import', 'fal'], env);
  await assert.rejects(fal, /must be a provider .*: openrouter/);
  other.respond('/v1/videos/models', { status: 503, json: { data: 1 } });
  await assert.rejects(runCommand([...line, 'second'], env), /can't be read: HTTP 503/);
  other.respond('/v1/videos/models', { json: { data: [{ id: 1 }] } });
  await assert.rejects(runCommand([...line, 'second'], env), /OpenRouter's format at \/data\/0/);
});
