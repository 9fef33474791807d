import assert from 'node:assert/strict';
import { test } from 'node:test';
import { importsOf, product, sources, WORKSPACES } from './sources.ts';

/**
 * The rooms of server/src, lowest layer first. A file imports within its room or from a lower layer.
 * Rooms of one layer do not import each other.
 */
const LAYERS = [
  ['kernel'],
  ['database'],
  ['outbound', 'media'],
  ['catalog', 'ledger', 'storage', 'queue'],
  ['providers'],
  ['tasks', 'accounts'],
  ['operator'],
  ['http'],
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
  assert.deepEqual(
    wrong.map(({ name }) => name),
    [],
  );
});

test('a closed folder imports nothing of the others', () => {
  const wrong = CLOSED.flatMap((folder) =>
    sources
      .filter(({ name }) => name.startsWith(`${folder}/`))
      .filter((source) => importsOf(source).some((target) => !target.startsWith(`${folder}/`))),
  );
  assert.deepEqual(
    wrong.map(({ name }) => name),
    [],
  );
});

test('a workspace does not import the server by its package name', () => {
  const wrong = sources.filter(
    ({ name, text }) =>
      WORKSPACES.some((workspace) => name.startsWith(`${workspace}/`)) &&
      /(?:from|import\()\s*'framewright['/]/.test(text),
  );
  assert.deepEqual(
    wrong.map(({ name }) => name),
    [],
  );
});
