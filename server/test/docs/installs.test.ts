import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import path from 'node:path';
import { after, before, beforeEach } from 'node:test';
import { endOf, type Machine, openMachine } from '../../../clients/cli/test/fw-process.ts';
import { connectOverHttp, connectToProgram } from '../../../clients/mcp/test/connect.ts';
import { listenOn } from '../../../simulators/kit/http-server.ts';
import { createTestDatabase, type TestDatabase } from '../database.ts';
import { LONG, longTest } from '../long.ts';
import { ask } from '../service/command-line.ts';
import { type ServiceProcess, startServiceProcess } from '../service/service-process.ts';
import { temporaryFolder } from '../temporary-folder.ts';

// Each install command of the pages, as the running installation shows it, on a machine that has
// nothing but Node, npm and Python. What others wrote comes from npm and PyPI.

let database: TestDatabase;
let service: ServiceProcess;
let files: Awaited<ReturnType<typeof temporaryFolder>>;
let serviceEnv: Record<string, string>;
/** A test key of this test: its rate limit is that of one reader. */
let key: string;

before(async () => {
  if (!LONG) return;
  database = await createTestDatabase();
  files = await temporaryFolder();
  serviceEnv = { DATABASE_URL: database.url, DATA_DIR: files.path };
  service = await startServiceProcess(serviceEnv);
  await ask(serviceEnv, 'accounts create ada@example.com');
});
beforeEach(async () => {
  if (LONG) key = String((await ask(serviceEnv, 'keys create ada@example.com --test')).secret);
});
after(async () => {
  await service?.kill('SIGTERM');
  await database?.close();
  await files?.[Symbol.asyncDispose]();
});

/** The Markdown of a page as the installation serves it, with the reader's key. */
async function page(slug: string): Promise<string> {
  const response = await fetch(`${service.url}/docs/${slug}.md`);
  assert.equal(response.status, 200, slug);
  return (await response.text()).replaceAll('fw_test_...', key);
}

/** The code blocks of a page whose first fence has these words. */
async function blocks(slug: string, info: string): Promise<string[]> {
  const found = (await page(slug)).matchAll(/^```([^\n]*)\n(.*?)^```/gms);
  return [...found].filter(([, words]) => words === info).map(([, , code = '']) => code);
}

const block = async (slug: string, info: string) => (await blocks(slug, info))[0] ?? '';

/** What a shell of this machine lets through to npm and pip, such as proxies and certificates. */
const NETWORK = /^(pip_|npm_config_(registry|cafile)$|\w*_proxy$|ssl_cert|node_extra)/i;

/** An empty machine, with the variables that the pages set if `isReady`. */
async function newMachine(isReady = true): Promise<Machine> {
  const network = Object.entries(process.env).filter(([name]) => NETWORK.test(name));
  const machine = await openMachine(Object.fromEntries(network) as Record<string, string>);
  const { env, folder } = machine;
  // A global install of npm goes into the reader's own folder.
  env.npm_config_prefix = path.join(folder, '.npm-global');
  const node = path.dirname(process.execPath);
  env.PATH = `${folder}/.npm-global/bin:${node}:/usr/local/bin:/usr/bin:/bin`;
  delete env.NODE_OPTIONS;
  if (!isReady) return machine;
  env.FRAMEWRIGHT_BASE_URL = `${service.url}/api/v1`;
  env.FRAMEWRIGHT_API_KEY = key;
  return machine;
}

/** Runs commands as they are printed. @returns what they print */
async function shell({ env, folder }: Machine, commands: string): Promise<string> {
  const child = spawn('sh', ['-ec', commands], { env, cwd: folder });
  child.stdin.end();
  const { code, out, err } = await endOf(child);
  assert.equal(code, 0, `${commands}\n${out}\n${err}`);
  return out + err;
}

async function hasVideo({ folder }: Machine, name?: string): Promise<void> {
  const videos = (await readdir(folder)).filter((file) => file.endsWith('.mp4'));
  assert.deepEqual(videos, [name ?? videos[0]]);
  const bytes = await readFile(path.join(folder, videos[0] ?? ''));
  assert.equal(bytes.subarray(4, 8).toString(), 'ftyp');
}

for (const [slug, info, file, run] of [
  ['typescript', 'ts', 'first.mjs', ''],
  ['ai-sdk', 'ts', 'first.mjs', ''],
  ['python', 'python', 'first.py', 'python first.py\npip check'],
] as const) {
  longTest(`the page of ${slug} installs it, and its program makes a video`, async () => {
    await using machine = await newMachine(false);
    await writeFile(path.join(machine.folder, file), await block(slug, info));
    await shell(machine, `${await block(slug, 'sh')}\n${run}`);
    await hasVideo(machine);
  });
}

/** The commands of a comment at the head of a program. */
const commentOf = (program: string) =>
  [...program.matchAll(/^(?:\/\/|#) (.*)$/gm)].map(([, line = '']) => line);

for (const [tab, file] of [
  ['ts tab=TypeScript', 'first.mjs'],
  ['python tab=Python', 'first.py'],
] as const) {
  longTest(`the quickstart: the first lines of its ${file} run it`, async () => {
    await using machine = await newMachine();
    const program = await block('quickstart', tab);
    const [save, ...commands] = commentOf(program);
    assert.equal(save, `Save this as ${file}, then:`);
    await writeFile(path.join(machine.folder, file), program);
    await shell(machine, commands.join('\n'));
    await hasVideo(machine, 'lighthouse.mp4');
  });
}

longTest('the quickstart: npx runs fw from the installation', async () => {
  await using machine = await newMachine();
  await shell(machine, await block('quickstart', 'sh tab=fw'));
  await hasVideo(machine, 'lighthouse.mp4');
});

longTest('the page of fw: install, login and a video', async () => {
  await using machine = await newMachine(false);
  const [install = '', ...rest] = (await block('cli', 'sh')).split('\n');
  await shell(machine, install);
  await writeFile(path.join(machine.folder, 'rest.sh'), rest.join('\n'));
  const terminal = machine.inTerminal('sh -e rest.sh');
  await terminal.waitFor(/API key/);
  terminal.type(`${key}\r`);
  await terminal.waitFor(/Make it\?/);
  terminal.type('y\r');
  assert.equal(await terminal.end, 0);
  await hasVideo(machine);
});

longTest('the workflow of the CI passes', async () => {
  await using machine = await newMachine();
  const workflow = await block('test-keys', 'yaml');
  const steps = [...workflow.matchAll(/^( +)(?:- )?run: (?:\|\n((?:\1 .*\n)+)|(.*)\n)/gm)];
  assert.equal(steps.length, 3);
  for (const [, , block, line] of steps) await shell(machine, block ?? line ?? '');
  await hasVideo(machine, 'boat.mp4');
});

longTest('the page of webhooks: npx runs fw, which relays an event', async () => {
  await using machine = await newMachine();
  const [listen = '', generate = ''] = await blocks('webhooks', 'text');
  await using receiver = createServer((_, response) => response.writeHead(204).end());
  const { port } = new URL(await listenOn(receiver)); // 8787 may be taken
  await shell(machine, listen.replace(/fw listen .*/, 'fw --version')); // installs it
  const relay = machine.inTerminal(listen.replace('8787', port));
  await relay.waitFor(/whsec_/);
  await shell(machine, generate);
  await relay.waitFor(/task\.completed\t.*204/);
  relay.type('\x03');
  await relay.end;
  await hasVideo(machine, 'boat.mp4');
});

/** The settings of MCP clients on the page, as a client reads them. */
async function mcpSettings() {
  const found = (await blocks('mcp', 'json')).map((block) => JSON.parse(block));
  return found.map(({ mcpServers }) => mcpServers?.framewright).filter(Boolean);
}

const VIDEO = { request_id: 'installs-1', prompt: 'A lighthouse at dawn', duration: 5 };

longTest('the page of MCP: the settings of both kinds make a video', async () => {
  await using machine = await newMachine(false);
  const [remote, local] = await mcpSettings();
  assert.equal(remote.headers.Authorization, `Bearer ${key}`);
  const overHttp = await connectOverHttp(remote.url, key);
  const env = { ...machine.env, ...local.env };
  const args = local.args.map((one: string) => one.replace('/home/ada/Pictures', machine.folder));
  const program = { command: local.command, args, env, cwd: machine.folder };
  const overStdio = await connectToProgram(program);
  try {
    for (const client of [overHttp, overStdio]) {
      const result = await client.callTool({ name: 'generate_video', arguments: VIDEO });
      assert.ok(!result.isError, JSON.stringify(result));
      assert.match(JSON.stringify(result), /completed/);
    }
  } finally {
    await Promise.all([overHttp.close(), overStdio.close()]);
  }
});
