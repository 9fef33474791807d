import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { ROOT } from './sources.ts';

/**
 * Names of ours that belong to nobody, or to somebody else, on npm and PyPI. The day that one of
 * them is published, it leaves this list (decisions/0062).
 */
const NOT_PUBLISHED = [
  'framewright',
  'fw',
  'framewright-mcp',
  'framewright-client',
  'framewright_client',
  '@framewright/client',
  '@framewright/ai-sdk',
  '@framewright/cli',
  '@framewright/mcp',
];

/** What gets packages from a registry, and the words behind it in its line. */
const GETS =
  /\b(npx|pnpx|bunx|uvx|pipx|npm (?:i|install|add|exec)|pnpm (?:i|add|dlx)|yarn (?:add|dlx)|bun (?:add|x)|deno add|pip3? install|uv (?:add|pip|tool))\s([^\n`|&;]*)/g;

/** The package that a command of a text would get from a registry under a name of ours. */
function strangersIn(text: string): string[] {
  const joined = text.replaceAll(/\\\n\s*/g, '');
  const commands = [...joined.matchAll(GETS)].filter(([, , rest = '']) => {
    const words = rest.split(/[\s"',[\]()]+/);
    if (words[0] === '--no-install') return false;
    // Behind the package that --package names stands the program.
    const at = words.indexOf('--package');
    const named = at === -1 ? words : [...words.slice(0, at), words[at + 1] ?? ''];
    return named.some((word) => NOT_PUBLISHED.includes(word.replace(/(?<=.)(@|==).*/, '')));
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
  assert.equal(strangersIn('pip install httpx framewright-client==1.0.0').length, 1);
  const wrong = texts.flatMap(({ name, text }) =>
    strangersIn(text).map((command) => `${name}: ${command}`),
  );
  assert.deepEqual(wrong, []);
});
