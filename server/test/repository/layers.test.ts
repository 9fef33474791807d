import assert from 'node:assert/strict';
import path from 'node:path';
import { test } from 'node:test';
import { CONSOLE, clientCode, importsOf, product, sources, WORKSPACES } from './sources.ts';

/**
 * The rooms of server/src, lowest layer first. A file imports within its room or from a lower
 * layer. Rooms of one layer do not import each other.
 */
const LAYERS = [
  ['telemetry'],
  ['kernel'],
  ['database'],
  ['outbound', 'media', 'mail'],
  ['brand', 'catalog', 'credentials', 'ledger', 'storage', 'webhooks'],
  ['accounts'],
  ['providers', 'uploads'],
  ['tasks', 'routing'],
  ['shares'],
  ['attempts', 'sign-in', 'billing', 'moderation', 'reports'],
  ['worker'],
  ['operator'],
  ['requests'],
  ['http', 'site'],
  ['config'],
  ['cli and the files beside it'],
];

/** Folders that import only their own files and npm packages, tests included. */
const CLOSED = ['acceptance', ...WORKSPACES];

function roomOf(name: string): string {
  const [room = '', ...rest] = name.replace('server/src/', '').split('/');
  return rest.length === 0 || room === 'cli' ? 'cli and the files beside it' : room;
}

function layerOf(room: string): number {
  const layer = LAYERS.findIndex((rooms) => rooms.includes(room));
  assert.notEqual(layer, -1, `the room ${room} has no layer`);
  return layer;
}

function assertNone(wrong: typeof sources): void {
  const badNames = wrong.map(({ name }) => name);
  assert.deepEqual(badNames, []);
}

test('a room imports itself and lower layers only', () => {
  const wrong = product.flatMap((source) => {
    const room = roomOf(source.name);
    const isAllowed = (target: string) =>
      roomOf(target) === room || layerOf(roomOf(target)) < layerOf(room);
    const inside = importsOf(source).filter((target) => target.startsWith('server/src/'));
    return inside
      .filter((target) => !isAllowed(target))
      .map((target) => `${source.name} imports ${target}`);
  });
  assert.deepEqual(wrong, []);
});

test('the product imports no test kit', () => {
  const wrong = product.filter((source) =>
    importsOf(source).some((target) => !target.startsWith('server/src/')),
  );
  assertNone(wrong);
});

test('a closed folder imports nothing of the others', () => {
  const wrong = CLOSED.flatMap((folder) =>
    sources
      .filter(({ name }) => name.startsWith(`${folder}/`))
      .filter((source) => importsOf(source).some((target) => !target.startsWith(`${folder}/`))),
  );
  assertNone(wrong);
});

test('a package of the clients imports only its own files and the description of the API', () => {
  const packageOf = (name: string) => name.split('/').slice(0, 2).join('/');
  const wrong = clientCode.flatMap((source) =>
    importsOf(source)
      .filter((target) => packageOf(target) !== packageOf(source.name))
      .filter((target) => target !== 'openapi.json')
      .map((target) => `${source.name} imports ${target}`),
  );
  assert.deepEqual(wrong, []);
});

const CURRENCY = 'server/src/kernel/currency.ts';
/** What the pages share with the server and with the clients. It imports nothing. */
const SHARED = [CURRENCY, 'clients/typescript/src/version.ts'];

test('the pages import nothing of the server but types of the website, and how money is shown', () => {
  const pages = sources.filter(({ name }) => name.startsWith(`${CONSOLE}/src/`));
  const wrong = pages.flatMap((source) =>
    importsOf(source)
      .filter((target) => !target.startsWith(`${CONSOLE}/`) && !SHARED.includes(target))
      .filter((target) => !target.startsWith('server/src/site/') || !isTypeImport(source, target))
      .map((target) => `${source.name} imports ${target}`),
  );
  assert.deepEqual(wrong, []);
  assert.deepEqual(sources.filter(({ name }) => SHARED.includes(name)).flatMap(importsOf), []);
  const formatting = sources.filter(
    ({ name, text }) =>
      /^(?:server|console)\/src\//.test(name) && /style: 'currency'|minor \/ 100/.test(text),
  );
  const formatters = formatting.map(({ name }) => name);
  assert.deepEqual(formatters, [CURRENCY]);
});

/** Whether a file imports this one for its types only, in each statement that names it. */
function isTypeImport({ text }: { text: string }, target: string): boolean {
  const statements = [...text.matchAll(/^import ([^;]*?)'([^']+)';/gms)];
  const naming = statements.filter(([, , from = '']) => from.endsWith(path.posix.basename(target)));
  return naming.length > 0 && naming.every(([, words = '']) => words.startsWith('type '));
}

test('the pages are built by a program that imports neither them nor the server', () => {
  const wrong = sources
    .filter(({ name }) => /^console\/[^/]+\.ts$/.test(name))
    .filter((source) =>
      importsOf(source).some(
        (target) => !/^(console\/(docs\/)?|clients\/packing\/)[^/]+$/.test(target),
      ),
    );
  assertNone(wrong);
});

test('a workspace does not import the server by its package name', () => {
  const wrong = sources.filter(
    ({ name, text }) =>
      [...WORKSPACES, CONSOLE].some((workspace) => name.startsWith(`${workspace}/`)) &&
      /(?:from|import|import\()\s*'framewright['/]/.test(text),
  );
  assertNone(wrong);
});

/** The names that a file exports by a declaration. */
function exportsOf(text: string): string[] {
  const declared =
    /^export (?:declare )?(?:async )?(?:function\*?|const|let|class|interface|type|enum) (\w+)/gm;
  return [...text.matchAll(declared)].map(([, name = '']) => name);
}

/** Each room that has personal data of an account exports one. */
const OF_EVERY_ROOM = 'eraseOf';

test('no two files of the product export the same name', () => {
  const owners = new Map<string, string[]>();
  for (const { name: file, text } of product) {
    for (const name of new Set(exportsOf(text)).difference(new Set([OF_EVERY_ROOM]))) {
      owners.set(name, [...(owners.get(name) ?? []), file]);
    }
  }
  const shared = [...owners].filter(([, exporters]) => exporters.length > 1);
  assert.deepEqual(shared, []);
});

test('an erasure calls what each room exports to erase an account', () => {
  const exporters = product.filter(({ text }) => exportsOf(text).includes(OF_EVERY_ROOM));
  const erasure = product.find(({ name }) => name === 'server/src/operator/erase.ts');
  assert.ok(erasure && exporters.length > 0);
  const missing = exporters.filter((source) => !importsOf(erasure).includes(source.name));
  assertNone(missing);
  const rooms = exporters.map(({ name }) => roomOf(name));
  assert.deepEqual([...new Set(rooms)], rooms, 'one of each room');
  const [, called = ''] = /const ROOMS = \[([^\]]*)\]/.exec(erasure.text) ?? [];
  assert.equal(called.match(/\w+/g)?.length, exporters.length);
});
