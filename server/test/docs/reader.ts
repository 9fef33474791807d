import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { chmod, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { connectOverHttp, connectOverStdio } from '../../../clients/mcp/test/connect.ts';
import {
  openVirtualEnvironment,
  type VirtualEnvironment,
  withoutPython,
} from '../../../clients/python/test/virtual-environment.ts';
import { EXAMPLE_IDS } from '../../../console/docs/contents.ts';
import { createAccount } from '../../src/accounts/accounts.ts';
import { createKey } from '../../src/accounts/api-keys.ts';
import {
  imageBytes,
  type MediaFixture,
  openMediaFixture,
  videoBytes,
} from '../media/media-fixture.ts';
import { ROOT } from '../repository/sources.ts';

const run = promisify(execFile);

/** A code block of a page. */
export interface Sample {
  file: string;
  /** What stands behind its first fence, such as `sh tab=curl`. */
  info: string;
  text: string;
}

/** All code blocks of a page, in their order. */
export function samplesOfPage(file: string): Sample[] {
  const page = readFileSync(path.join(ROOT, file), 'utf8');
  const blocks = page.matchAll(/^```([^\n]*)\n(.*?)^```/gms);
  return [...blocks].map(([, info = '', text = '']) => ({ file, info, text }));
}

/** The tabs of the documentation, and how each one's samples are run. */
export type Tool = 'curl' | 'TypeScript' | 'Python' | 'fw' | 'MCP';

/** A service, and machines on which readers of the documentation try its samples. */
export interface Readers {
  fixture: MediaFixture;
  /** Somebody with a new account and a test key. */
  newReader(): Promise<Reader>;
  close(): Promise<void>;
}

export interface Reader {
  env: Record<string, string>;
  /**
   * Runs samples that a page has in a tab, as a reader would.
   * @returns what they print
   * @throws Error unless they succeed
   */
  run(tool: Tool, sample: string): Promise<string>;
  /** A task of the reader. @param prompt may have a word of test keys */
  newTask(prompt?: string): Promise<string>;
  /** An upload of the reader. */
  newUpload(): Promise<string>;
  /** Sends a request of the API with the reader's key. */
  request(method: string, address: string, body?: object | Buffer): Promise<Response>;
}

export async function openReaders(): Promise<Readers> {
  const fixture = await openMediaFixture();
  // Below the root, from where the packages of the clients can be found.
  const folder = await mkdtemp(path.join(ROOT, 'clients/.samples-'));
  const python = withoutPython ? undefined : await openVirtualEnvironment(['.']);
  const files = await writeFiles(fixture, folder);
  await writePrograms(folder);
  return {
    fixture,
    newReader: () => newReader({ fixture, folder, files, python }),
    async close() {
      await rm(folder, { recursive: true, force: true });
      await python?.[Symbol.asyncDispose]();
      await fixture.close();
    },
  };
}

/** What stands for the addresses of the samples. */
type Files = Record<string, string>;

async function writeFiles({ host }: MediaFixture, folder: string): Promise<Files> {
  const picture = await imageBytes('png', 864, 496);
  const clip = await videoBytes({ width: 480, height: 480, seconds: 3, fps: 6 });
  const files: Files = {};
  for (const [address, bytes] of [
    ['https://example.com/first.png', picture],
    ['https://example.com/last.png', picture],
    ['https://example.com/robot.png', picture],
    ['https://example.com/dance.mp4', clip],
    ['https://media.example.com/lighthouse.jpg', picture],
    ['https://media.example.com/waves.mp4', clip],
  ] as const) {
    const name = path.basename(address);
    await writeFile(path.join(folder, name), bytes);
    files[address] = host.serve(`/${name}`, { kind: 'bytes', bytes });
  }
  return files;
}

/** `fw` from its sources. It is told to agree to the price, which it would ask a reader. */
async function writePrograms(folder: string): Promise<void> {
  const bin = path.join(folder, 'bin');
  await mkdir(bin);
  const fw = `${process.execPath} ${path.join(ROOT, 'clients/cli/src/fw.ts')}`;
  const programs = {
    fw: `[ "$1" = generate ] && set -- "$@" --yes\nexec ${fw} "$@"`,
    npx: '[ "$1 $2 $4" = "--yes --package fw" ] || exit 1\nshift 4\nexec fw "$@"',
  };
  for (const [name, text] of Object.entries(programs)) {
    await writeFile(path.join(bin, name), `#!/bin/sh\n${text}\n`);
    await chmod(path.join(bin, name), 0o755);
  }
}

interface Machine {
  fixture: MediaFixture;
  folder: string;
  files: Files;
  python: VirtualEnvironment | undefined;
}

async function newReader(machine: Machine): Promise<Reader> {
  const { fixture, folder, files } = machine;
  const accountId = await createAccount(fixture.db, `${crypto.randomUUID()}@example.com`);
  const { secret } = await createKey(fixture.db, { accountId, mode: 'test' });
  const home = await mkdtemp(path.join(folder, 'home-'));
  for (const name of Object.keys(files).map((address) => path.basename(address))) {
    await symlink(path.join(folder, name), path.join(home, name));
  }
  const env: Record<string, string> = {
    PATH: `${path.join(folder, 'bin')}:${path.dirname(process.execPath)}:${process.env.PATH}`,
    HOME: home,
    NODE_NO_WARNINGS: '1',
    FRAMEWRIGHT_BASE_URL: `${fixture.url}/api/v1`,
    FRAMEWRIGHT_API_KEY: secret,
  };
  const request: Reader['request'] = (method, address, body) =>
    fetch(`${env.FRAMEWRIGHT_BASE_URL}${address}`, {
      method,
      headers: {
        authorization: `Bearer ${secret}`,
        'idempotency-key': crypto.randomUUID(),
        ...(body && { 'content-type': body instanceof Buffer ? 'image/png' : 'application/json' }),
      },
      ...(body && { body: body instanceof Buffer ? new Uint8Array(body) : JSON.stringify(body) }),
    });
  return {
    env,
    request,
    async run(tool, sample) {
      const text = Object.entries(files)
        .reduce((all, [address, here]) => all.replaceAll(address, here), sample)
        .replaceAll(EXAMPLE_IDS.task, env.TASK ?? '')
        .replaceAll('/home/ada', home);
      return RUNNERS[tool](text, { ...machine, env, home });
    },
    async newTask(prompt = 'A boat') {
      const response = await request('POST', '/video/generations', { prompt });
      return ((await response.json()) as { id: string }).id;
    },
    async newUpload() {
      const response = await request('POST', '/uploads', await imageBytes('png', 96, 54));
      return ((await response.json()) as { id: string }).id;
    },
  };
}

interface Place extends Machine {
  env: Record<string, string>;
  /** A folder of this reader. */
  home: string;
}

async function inShell(text: string, { home, env }: Place): Promise<string> {
  const { stdout } = await run('sh', ['-ec', text], { cwd: home, env });
  if (/^\{"error":\{/m.test(stdout)) throw new Error(`${text}\n${stdout}`);
  return stdout;
}

const RUNNERS: Record<Tool, (text: string, place: Place) => Promise<string>> = {
  curl: inShell,
  fw: inShell,
  async TypeScript(text, { home, env }) {
    const head = /^import \{ Framewright/m.test(text)
      ? ''
      : "import { Framewright } from '@framewright/client';\nconst client = new Framewright();\n";
    const file = path.join(home, 'sample.ts');
    await writeFile(file, head + text);
    return (await run(process.execPath, [file], { cwd: home, env })).stdout;
  },
  async Python(text, { home, env, python }) {
    if (!python) throw new Error(String(withoutPython));
    const head = /^from framewright_client/m.test(text)
      ? ''
      : 'from framewright_client import Framewright\nclient = Framewright()\n';
    const file = path.join(home, 'sample.py');
    await writeFile(file, head + text);
    return python.run('python', [file], { ...env, cwd: home });
  },
  async MCP(text, { folder, env, fixture }) {
    const call: { name: string; arguments: Record<string, unknown> } = JSON.parse(text);
    const client =
      call.name === 'upload_file'
        ? await connectOverStdio(env, ['--files', folder])
        : await connectOverHttp(`${fixture.url}/mcp`, env.FRAMEWRIGHT_API_KEY ?? '');
    try {
      const { isError, content } = await client.callTool(call);
      const told = JSON.stringify(content);
      if (isError) throw new Error(`${text}\n${told}`);
      return told;
    } finally {
      await client.close();
    }
  },
};
