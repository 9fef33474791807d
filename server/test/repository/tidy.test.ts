import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFile, stat } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { readConfig } from '../../src/config/config.ts';
import { PROVIDER_NAMES } from '../../src/providers/registry.ts';
import { TEST_PROVIDER } from '../../src/providers/test-provider.ts';
import { product, ROOT } from './sources.ts';

/** Files that name the provider of a start without configuration. */
const NAMES_LOCAL = [
  'server/src/cli/welcome.ts', // the welcome of the first start
  'server/src/config/config.ts', // the default of PROVIDER
  'server/src/write-openapi.ts', // builds the app without a provider
];

test('only registry.ts and test-provider.ts name a provider outside its folder', () => {
  const wrong = [...PROVIDER_NAMES, TEST_PROVIDER].flatMap((provider) => {
    const known = [
      'server/src/providers/registry.ts',
      'server/src/providers/test-provider.ts',
      ...(provider === 'local' ? NAMES_LOCAL : []),
    ];
    const naming = new RegExp(
      `'${provider}'|(\\.|providers)/${provider}/|\\b${provider.toUpperCase()}_`,
    );
    return product
      .filter(({ name, text }) => naming.test(text) && !known.includes(name))
      .filter(({ name }) => !name.startsWith(`server/src/providers/${provider}/`))
      .map(({ name }) => `${name} names ${provider}`);
  });
  assert.deepEqual(wrong, []);
});

test('a statement name is used once', () => {
  const names = product.flatMap(({ text }) =>
    [
      ...text.matchAll(
        /(?:[sS]tatement\(|(?:openAdmission|fusedRead)(?:<\w+>)?\([\w.]+,)\s*'([^']+)'/g,
      ),
      ...text.matchAll(/ = (?:query\w*|whether|command)(?:<[^`]*?>)?\(\s*'([^']+)'/g),
    ].map(([, name]) => name),
  );
  const twice = names.filter((name, i) => names.indexOf(name) !== i);
  assert.deepEqual(twice, []);
});

test('statements name their columns: an added column must not change what they return', () => {
  const star = /(?:\b(?:select|returning|distinct|all)\s|,|\w\.)\s*\*/i;
  const wrong = product.flatMap(({ name, text }) =>
    [...text.matchAll(/`[^`]*`|'[^'\n]*'/g)]
      .map(([literal]) => literal)
      .filter((literal) => /\b(select|returning)\b/i.test(literal) && star.test(literal))
      .map((literal) => `${name}: ${star.exec(literal)?.[0]}`),
  );
  assert.deepEqual(wrong, []);
});

test('the lockfile and the settings name no registry host', async () => {
  for (const name of ['package-lock.json', '.npmrc']) {
    assert.doesNotMatch(await readFile(path.join(ROOT, name), 'utf8'), /https?:\/\/registry/);
  }
});

function read(name: string): Promise<string> {
  return readFile(path.join(ROOT, 'deploy', name), 'utf8');
}

/** The first group of each match. */
function groups(text: string, pattern: RegExp): string[] {
  return [...text.matchAll(pattern)].map(([, group = '']) => group);
}

test('what the Dockerfile copies is there, and its ports are those of the other files', async () => {
  const dockerfile = await read('Dockerfile');
  const copied = groups(dockerfile, /^COPY (?!--from)(.*) \S+$/gm).flatMap((names) =>
    names.split(' '),
  );
  assert.ok(copied.length >= 9);
  for (const name of copied) await stat(path.join(ROOT, name));
  const [api = '', metrics = ''] = groups(dockerfile, /^EXPOSE (.*)$/gm)
    .join()
    .split(' ');
  const proxied = groups(await read('compose/Caddyfile'), /api-\d:(\d+)/g);
  assert.deepEqual(new Set(proxied), new Set([api]));
  for (const [role, ports] of Object.entries({ api: [api, metrics], worker: [metrics] })) {
    const manifest = await read(`kubernetes/${role}.yaml`);
    assert.deepEqual(groups(manifest, /containerPort: (\d+)/g), ports);
  }
});

test('a process has longer to stop than it takes', async () => {
  const { shutdownSeconds } = readConfig({});
  for (const [name, setting] of [
    ['compose/compose.yaml', /stop_grace_period: (\d+)s/g],
    ['kubernetes/api.yaml', /terminationGracePeriodSeconds: (\d+)/g],
    ['kubernetes/worker.yaml', /terminationGracePeriodSeconds: (\d+)/g],
    ['systemd/framewright-api@.service', /TimeoutStopSec=(\d+)/g],
    ['systemd/framewright-worker@.service', /TimeoutStopSec=(\d+)/g],
  ] as const) {
    const [given = 0] = groups(await read(name), setting);
    assert.ok(Number(given) >= shutdownSeconds + 10, `${name}: ${given}`);
  }
});

/**
 * Names of ours that belong to nobody, or to somebody else, on npm and PyPI. The day that one of
 * them is published, it leaves this list (decisions/0062).
 */
const NOT_PUBLISHED =
  /(?<=^|[\s"',[(])(@framewright\/(client|ai-sdk|cli|mcp)|framewright([-_]client|-mcp)?|fw)(?=$|[\s"',\])@]|==)/;

/** What gets packages from a registry, and the words behind it in its line. */
const GETS =
  /\b(?:npx|pnpx|bunx|uvx|pipx|npm (?:i|install|add|exec)|pnpm (?:i|add|dlx)|yarn (?:add|dlx)|bun (?:add|x)|deno add|pip3? install|uv (?:add|pip|tool))\s([^\n`|&;]*)/g;

/** The package that a command of a text would get from a registry under a name of ours. */
function strangersIn(text: string): string[] {
  const joined = text.replaceAll(/\\\n\s*/g, '');
  const commands = [...joined.matchAll(GETS)].filter(([, rest = '']) => {
    // Behind the package that --package names stands the program.
    const named = rest.replace(/^--no-install .*/, '').replace(/(?<=--package \S+) .*/, '');
    return NOT_PUBLISHED.test(named);
  });
  // A list of words in the settings of an MCP client.
  const settings = joined.matchAll(/"args": \[[^\]]*"@?framewright\/[^\]]*\]/g);
  return [...commands, ...settings].map(([command]) => command);
}

const run = promisify(execFile);
const { stdout } = await run('git', ['ls-files', '-co', '--exclude-standard'], { cwd: ROOT });
const texts = await Promise.all(
  stdout
    .trim()
    .split('\n')
    .filter((name) => /\.(md|tsx?|py|mjs|json|ya?ml|sh|html)$|Dockerfile$/.test(name))
    .filter((name) => !/(^|\/)test\/|\.test\.ts$|^package-lock\.json$/.test(name))
    .map(async (name) => ({
      name,
      text: await readFile(path.join(ROOT, name), 'utf8').catch(() => ''),
    })),
);

test('no command gets a package of ours from a registry, where it is a stranger', () => {
  const wanted = ['pip install httpx framewright-client==1.0.0', 'npx @framewright/cli x'];
  assert.equal(strangersIn(`${wanted.join('\n')}\nnpx --yes --package ./fw.tgz fw x`).length, 2);
  const wrong = texts.flatMap(({ name, text }) =>
    strangersIn(text).map((command) => `${name}: ${command}`),
  );
  assert.deepEqual(wrong, []);
});
