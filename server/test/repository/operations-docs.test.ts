import assert from 'node:assert/strict';
import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { parseCommandLine } from '../../src/cli/command-line.ts';
import { readConfig } from '../../src/config/config.ts';
import { METRICS, type MetricName } from '../../src/http/operations/metric-list.ts';
import { neededVariables, PROVIDER_NAMES } from '../../src/providers/registry.ts';
import { ROOT } from './sources.ts';

/** Relative to the root. */
const PAGES = ['README.md', 'deploy/README.md', ...(await namesUnder('docs'))].filter((name) =>
  /\.(md|yml)$/.test(name),
);
const pages = new Map(
  await Promise.all(PAGES.map(async (name) => [name, await read(name)] as const)),
);

async function namesUnder(folder: string): Promise<string[]> {
  const entries = await readdir(path.join(ROOT, folder), { recursive: true });
  return entries.map((entry) => `${folder}/${entry.replaceAll(path.sep, '/')}`);
}

function read(name: string): Promise<string> {
  return readFile(path.join(ROOT, name), 'utf8');
}

function page(name: string): string {
  const text = pages.get(name);
  assert.ok(text, `${name} is missing`);
  return text;
}

/** The first group of each match. */
function groups(text: string, pattern: RegExp): string[] {
  return [...text.matchAll(pattern)].map(([, group = '']) => group);
}

function sorted(names: Iterable<string>): string[] {
  return [...new Set(names)].sort();
}

/** The providers that have variables, each with a page of its own. */
const PROVIDERS = PROVIDER_NAMES.filter((name) => neededVariables(name).length > 0);
const TABLES = [
  ...[
    'README',
    'tracing',
    'sign-in',
    'billing',
    'brand',
    'moderation',
    'reports',
    'content-credentials',
  ].map((name) => `docs/operators/${name}.md`),
  ...PROVIDERS.map(pageOfProvider),
];

function pageOfProvider(provider: string): string {
  return `docs/operators/providers/${provider}.md`;
}

// Metrics

/** The series of a metric have a suffix if it is a histogram. */
function metricOf(series: string): string {
  return series in METRICS ? series : series.replace(/_(bucket|sum|count)$/, '');
}

/** What a page or a rule says of a series: its name and the labels it asks for. */
function seriesIn(text: string): Array<{ name: string; labels: string[]; selector: string }> {
  return [...text.matchAll(/\b(framewright_(?!client|inside)\w+)(?:\{([^}]*)\})?/g)].map(
    ([, name = '', selector = '']) => ({
      name,
      labels: groups(selector, /(\w+)\s*(?:!?[=~]|,|$)/g),
      selector,
    }),
  );
}

test('every metric that a page or a rule names is shown, with the labels it is given there', () => {
  for (const [name, text] of pages) {
    for (const series of seriesIn(text)) {
      const metric = METRICS[metricOf(series.name) as MetricName];
      assert.ok(metric, `${name}: there is no ${series.name}`);
      const strange = series.labels.filter((label) => ![...metric.labels, 'le'].includes(label));
      assert.deepEqual(strange, [], `${name}: labels of ${series.name}`);
    }
  }
});

// Variables

/** An environment that notes which variables are read. */
function noting(values: Record<string, string>, names: Set<string>) {
  return new Proxy(values, {
    get(target, name) {
      if (typeof name === 'string') names.add(name);
      return Reflect.get(target, name);
    },
  });
}

function variablesRead(): string[] {
  const names = new Set<string>();
  readConfig(noting({}, names));
  return sorted(names);
}

/** The rows of tables whose first cell is one variable: its name and its default. */
function variableRows(name: string): Array<{ variable: string; fallback: string }> {
  const rows = [...page(name).matchAll(/^\| `([A-Z][A-Z_]+)` \| (.*?) ?\| /gm)];
  return rows.map(([, variable = '', fallback = '']) => ({ variable, fallback }));
}

test('each variable that the service reads has a row in one table, and no other has', () => {
  const documented = TABLES.flatMap(variableRows).map(({ variable }) => variable);
  assert.equal(new Set(documented).size, documented.length, 'each once');
  assert.deepEqual(sorted(documented), variablesRead());
});

test('no page names a variable that is not read', () => {
  const read = variablesRead();
  const prefixes = new RegExp(
    `^(${PROVIDERS.map((name) => name.toUpperCase()).join('|')})_|_(SECONDS|DAYS|URL|PORT)$`,
  );
  for (const [name, text] of pages) {
    const named = groups(text, /\b(?!FRAMEWRIGHT_)([A-Z]+(?:_[A-Z]+)+)\b/g);
    const strange = named.filter((word) => prefixes.test(word) && !read.includes(word));
    assert.deepEqual(sorted(strange), [], name);
  }
});

test('each variable that the deployment files set is one that the service reads', async () => {
  const names = await namesUnder('deploy');
  const units = await Promise.all(names.filter((name) => name.endsWith('.service')).map(read));
  const environment = groups(units.join('\n'), /^Environment=(.*)$/gm);
  const images = groups(await read('deploy/Dockerfile'), /^ENV (.*)$/gm);
  const set = [
    ...groups(await read('deploy/compose/framewright.env.example'), /^#? ?([A-Z_]+)=/gm),
    ...groups(await read('deploy/kubernetes/settings.yaml'), /^ {2}([A-Z_]+): /gm),
    ...groups([...environment, ...images].join(' '), /(\w+)=/g),
  ];
  assert.ok(set.length > 30, `only ${set.length}`);
  const others = ['NODE_ENV', 'AWS_ACCESS_KEY_ID', 'AWS_SECRET_ACCESS_KEY'];
  const known = new Set([...variablesRead(), ...others]);
  const unknown = sorted(set).filter((name) => !known.has(name));
  assert.deepEqual(unknown, []);
});

/** What registers every foreign provider, so that their settings are read to the end. */
const REGISTERED = Object.fromEntries([
  ['PROVIDER', 'local'],
  ...PROVIDERS.flatMap((name) => neededVariables(name)).map(({ variable }) => [
    variable,
    'http://10.0.0.5:8188',
  ]),
]);

test('a default in code type is what the service takes when the variable is not set', () => {
  const unset = readConfig(REGISTERED);
  let checked = 0;
  for (const { variable, fallback } of TABLES.flatMap(variableRows)) {
    const [value] = groups(fallback, /^`([^`]+)`$/g);
    if (value === undefined || /_MODEL(_FAST|_MINI)?$/.test(variable)) continue;
    assert.deepEqual(readConfig({ ...REGISTERED, [variable]: value }), unset, variable);
    checked += 1;
  }
  assert.ok(checked >= 20, `only ${checked}`);
});

// Commands

/** The operator commands in code blocks, with continued lines joined, and in code type. */
function commandsIn(text: string): string[][] {
  const joined = text.replaceAll(/\\\n\s*/g, '');
  const lines = groups(joined, /^npx --no-install framewright (.+)$/gm);
  const inline = groups(joined, /`npx --no-install framewright ([^`]+)`/g);
  return [...lines, ...inline].map((line) =>
    [...line.matchAll(/"([^"]*)"|(\S+)/g)].map(([, quoted, word]) => quoted ?? word ?? ''),
  );
}

test('every command that a page shows is one that there is, rightly spelt', async () => {
  for (const [name, text] of pages) {
    for (const words of commandsIn(text)) {
      if (['serve', '--help'].includes(words[0] ?? '')) continue;
      await assert.doesNotReject(parseCommandLine(words), `${name}: ${words.join(' ')}`);
    }
  }
});

// Links

/** A heading's anchor, as code hosts make it. */
function anchorOf(heading: string): string {
  const plain = heading.replaceAll('`', '').toLowerCase();
  return plain.replaceAll(/[^\p{L}\p{N} _-]/gu, '').replaceAll(' ', '-');
}

async function anchorsOf(name: string): Promise<string[]> {
  return groups(await read(name), /^#+ (.+)$/gm).map(anchorOf);
}

function linksIn(name: string, text: string): string[] {
  const links = groups(text, /\]\(([^)\s]+)\)/g).filter((link) => !/^https?:/.test(link));
  const relative = links.map((link) => path.posix.join(path.posix.dirname(name), link));
  const own = links.flatMap((link, i) =>
    link.startsWith('#') ? `${name}${link}` : (relative[i] ?? ''),
  );
  return [...own, ...groups(text, /^ +runbook: (\S+)$/gm)];
}

test('every link within the project leads to a file, and to a heading of it', async () => {
  for (const [name, text] of pages) {
    for (const link of linksIn(name, text)) {
      const [file = '', anchor] = link.split('#');
      const isFolder = file.endsWith('/');
      const found = await (isFolder ? readdir(path.join(ROOT, file)) : read(file)).catch(
        () => null,
      );
      assert.notEqual(found, null, `${name}: ${link}`);
      if (anchor === undefined) continue;
      assert.ok((await anchorsOf(file)).includes(anchor), `${name}: ${link}`);
    }
  }
});
