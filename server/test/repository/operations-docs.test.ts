import assert from 'node:assert/strict';
import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { parseCommandLine } from '../../src/cli/command-line.ts';
import { optionOf, verbTable } from '../../src/cli/help.ts';
import { readConfig } from '../../src/config/config.ts';
import type { Database } from '../../src/database/database.ts';
import { METRICS } from '../../src/http/operations/metric-list.ts';
import { createMetrics } from '../../src/http/operations/metrics.ts';
import type { Verb } from '../../src/operator/verb/verb.ts';
import { NOUNS } from '../../src/operator/verbs/list.ts';
import { neededVariables, PROVIDER_NAMES } from '../../src/providers/registry.ts';
import { TRANSITIONS } from '../../src/tasks/transitions.ts';
import { report } from '../../src/telemetry/reports.ts';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));

/** Relative to the root. */
const PAGES = ['README.md', ...(await namesUnder('docs'))].filter((name) =>
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

const OPERATIONS = PAGES.filter((name) => name.startsWith('docs/operators/'));
/** The providers that have variables, each with a page of its own. */
const PROVIDERS = PROVIDER_NAMES.filter((name) => neededVariables(name).length > 0);
const TABLES = [
  ...['README', 'tracing', 'sign-in', 'billing'].map((name) => `docs/operators/${name}.md`),
  ...PROVIDERS.map(pageOfProvider),
];

function pageOfProvider(provider: string): string {
  return `docs/operators/providers/${provider}.md`;
}

// Metrics

/** One row that serves all figures: every gauge then shows a series with all its labels. */
const ROW = {
  objects: 1, // first, for statements of one value
  phase: 'held',
  cause: 'acceptance',
  by: 'operator',
  result: 'accepted',
  state: 'confirmed',
  provider: 'ark',
  tasks: 1,
  credits: 1,
  oldest_seconds: 1,
  attempts: 1,
  jobs: 1,
  subject: 'ark',
  seconds: 1,
  pool: 'ingest',
  workers: 1,
  role: 'input',
  kind: 'pack',
  orders: 1,
  endpoints: 1,
  deliveries: 1,
};

/** Every series of ours with the labels it has, as `/metrics` shows them. */
async function shownMetrics(): Promise<Map<string, Set<string>>> {
  const unasked = () => assert.fail('metrics only query');
  const query = async () => JSON.parse(JSON.stringify([ROW]));
  const db: Database = { query, transaction: unasked, snapshot: unasked, close: unasked };
  const metrics = createMetrics(db);
  const call = { provider: 'ark', call: 'submit', outcome: 'accepted', seconds: 1 } as const;
  report('call', call);
  metrics.countCallback('ark', 'received');
  metrics.countResponse({ route: '/', status: 200, seconds: 1 });
  report('batch', { batch: 'admit', items: 1, seconds: 1 });
  report('claim', { pool: 'ingest', tasks: 1, seconds: 1 });
  report('slot', { pool: 'ingest', change: 1, slots: 1 });
  report('step', { phase: 'reserved', result: 'moved', seconds: 1 });
  report('phase', { phase: 'reserved', seconds: 1 });
  report('end', { outcome: 'completed', seconds: 1 });
  report('credits', { movement: 'reserve', credits: 1 });
  report('database', { part: 'query', seconds: 1 });
  report('storage', { operation: 'put', outcome: 'done', seconds: 1 });
  report('decode', { kind: 'image', outcome: 'measured', seconds: 1 });
  const floors = { upload: 1, input: 1, output: 1 };
  report('disk', { freeBytes: 1, reservedBytes: 1, floors });
  report('poster', { outcome: 'drawn', seconds: 1 });
  report('webhook', { outcome: 'delivered', seconds: 1 });
  report('periodic', { work: 'sweep', result: 'done', seconds: 1 });
  const { body } = await metrics.app.inject('/metrics');
  await metrics.app.close();
  const series = [...body.matchAll(/^(framewright_\w+)\{(.*)\} /gm)];
  return new Map(
    series.map(([, name = '', labels = '']) => [name, new Set(groups(labels, /(\w+)="/g))]),
  );
}

const shown = await shownMetrics();
const metrics = sorted([...shown.keys()].map((name) => name.replace(/_(bucket|sum|count)$/, '')));

/** What a page or a rule says of a series: its name and the labels it asks for. */
function seriesIn(text: string): Array<{ name: string; labels: string[]; selector: string }> {
  return [...text.matchAll(/\b(framewright_(?!client)\w+)(?:\{([^}]*)\})?/g)].map(
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
      const labels = shown.get(series.name) ?? shown.get(`${series.name}_bucket`);
      assert.ok(labels, `${name}: there is no ${series.name}`);
      const strange = series.labels.filter((label) => !labels.has(label));
      assert.deepEqual(strange, [], `${name}: labels of ${series.name}`);
    }
  }
});

test('/metrics shows the metrics of the list, each with its labels', () => {
  assert.deepEqual(metrics, Object.keys(METRICS).sort());
  for (const [name, { labels }] of Object.entries(METRICS)) {
    const given = shown.get(name) ?? shown.get(`${name}_sum`);
    assert.deepEqual(sorted(given ?? []), sorted(labels), name);
  }
});

test('the rules ask for values that there are', async () => {
  const known =
    (await read('server/src/providers/instrumented.ts')) +
    (await read('server/src/attempts/callback.ts')) +
    (await read('server/src/telemetry/reports.ts'));
  const rules = page('docs/operators/alerts.yml');
  for (const phase of groups(rules, /phase="(\w+)"/g)) assert.ok(phase in TRANSITIONS, phase);
  const words = groups(rules, /(?:outcome|result|call)!?="(\w+)"/g).filter(
    (word) => word !== 'failed',
  );
  for (const word of words) assert.match(known, new RegExp(`[\`']${word}[\`']`), word);
});

// Alert rules

/** The rules by their names, each as the text of its block. */
const rules = page('docs/operators/alerts.yml')
  .split(/^ {6}- alert: /m)
  .slice(1);

test('each alert has an expression, a severity, and words that say what to do', () => {
  const names = rules.map((rule) => rule.split('\n', 1)[0]);
  assert.equal(new Set(names).size, rules.length);
  for (const rule of rules) {
    assert.match(rule, /^Framewright\w+\n {8}expr: (>-\n( {10}\S.*\n)+|\S.*\n)/);
    assert.match(rule, /^ {10}severity: (critical|warning)$/m);
    assert.match(rule, /^ {10}summary: \S/m);
    assert.match(rule, /^ {10}description: >-\n {12}\S/m);
    assert.match(rule, /^ {10}runbook: docs\/operators\/\S+\.md#\S+$/m);
    const expression = rule.slice(0, rule.indexOf('        labels:'));
    for (const [open, close] of ['()', '{}', '[]']) {
      const count = (mark = '') => expression.split(mark).length;
      assert.equal(count(open), count(close), `${rule.split('\n', 1)[0]}: ${open}${close}`);
    }
  }
});

test('the rules indent with spaces and quote what YAML would read otherwise', () => {
  for (const line of page('docs/operators/alerts.yml').split('\n')) {
    assert.doesNotMatch(line, /\t/);
    const [, value = ''] = /^ +(?:- )?\w+: (.*)$/.exec(line) ?? [];
    if (!/^["']/.test(value)) assert.doesNotMatch(value, /^[{[&*!|%@`]|: |\s#/, line);
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

test('a variable of a provider is in the table of its page', () => {
  for (const provider of PROVIDERS) {
    const own = variablesRead().filter((name) => name.startsWith(`${provider.toUpperCase()}_`));
    const rows = variableRows(pageOfProvider(provider)).map(({ variable }) => variable);
    assert.deepEqual(sorted(rows), own);
  }
});

/** The test files that read a variable of their own. */
async function testSources(): Promise<string> {
  const names = [
    '../src/http/operations/dashboard.test',
    '../../clients/cli/test/killed.test',
    '../../clients/python/test/virtual-environment',
    '../../clients/typescript/test/package.test',
    '../../console/test/docs-pages.test',
    '../src/media/measure.test',
    '../src/media/output-check.test',
    'billing/orders.test',
    'clients/orders',
    'crash/rounds',
    'crash/kill-stream.test',
    'docs/installs.test',
    'faults/rolling-upgrade.test',
    'guards/guards.test',
    'ledger/rounds',
    'run',
    'service/acceptance.test',
    'service/schemathesis.test',
    'simulation/simulation.test',
  ];
  return (await Promise.all(names.map((name) => read(`server/test/${name}.ts`)))).join('\n');
}

test('no page names a variable that is not read', async () => {
  const read = variablesRead();
  const ofTests = groups(await testSources(), /\b(FRAMEWRIGHT_[A-Z_]+)\b/g);
  const others = ['FRAMEWRIGHT_KEY', ...ofTests]; // of the reader's shell, and of the long runs
  const owners = [...PROVIDERS, 'framewright'].map((name) => name.toUpperCase());
  const prefixes = new RegExp(`^(${owners.join('|')})_|_(SECONDS|DAYS|URL|PORT)$`);
  for (const [name, text] of pages) {
    const named = groups(text, /\b([A-Z]+(?:_[A-Z]+)+)\b/g).filter((word) => prefixes.test(word));
    const strange = named.filter((word) => !read.includes(word) && !others.includes(word));
    assert.deepEqual(sorted(strange), [], name);
  }
});

/** What registers every foreign provider, so that their settings are read to the end. */
const REGISTERED = Object.fromEntries([
  ['PROVIDER', 'local'],
  ...PROVIDERS.flatMap(neededVariables).map(({ variable }) => [variable, 'http://10.0.0.5:8188']),
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

test('the shares of a rate limit on the page are those of the code', async () => {
  const limiter = 'server/src/providers/rate-limiter';
  const files = await Promise.all((await namesUnder(limiter)).map(read));
  const percent = (name: string) => {
    const [share] = groups(files.join('\n'), new RegExp(`const ${name} = ([\\d.]+);`, 'g'));
    return `${Math.round(Number(share) * 100)} %`;
  };
  const told = groups(page('docs/operators/README.md'), /(\d+ %) of\s(?:a provider's|its) limit/g);
  assert.deepEqual(told, [percent('SHARE_OF_RATE'), percent('SHARE_OF_FIND_RATE')]);
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

const shownCommands = [...pages].flatMap(([name, text]) =>
  commandsIn(text).map((words) => ({ name, words })),
);

test('every command that a page shows is one that there is, rightly spelt', async () => {
  for (const { name, words } of shownCommands) {
    if (['serve', '--help'].includes(words[0] ?? '')) continue;
    await assert.doesNotReject(parseCommandLine(words), `${name}: ${words.join(' ')}`);
  }
});

test('every command is shown to operators, with each of its options', async () => {
  const ours = shownCommands.filter(({ name }) => OPERATIONS.includes(name));
  const uses = await Promise.all(
    ours
      .filter(({ words }) => words[0] !== 'serve')
      .map(async ({ words }) => ({ name: (await parseCommandLine(words)).name, words })),
  );
  const nouns = await Promise.all(Object.values(NOUNS).map((verbsOf) => verbsOf()));
  const optional = ['--account'];
  for (const [name, verb] of nouns.flatMap((verbs) => Object.entries<Verb>(verbs))) {
    const words = uses.filter((use) => use.name === name).flatMap((use) => use.words);
    assert.notEqual(words.length, 0, name);
    const options = Object.keys(verb.fields).filter((field) => !verb.words?.includes(field));
    const missing = options.map(optionOf).filter((option) => !words.includes(option));
    assert.deepEqual(
      missing.filter((option) => !optional.includes(option)),
      [],
      name,
    );
  }
  assert.ok(ours.some(({ words }) => words[0] === 'serve'));
});

test('the table of all commands is fresh: npm run docs', async () => {
  const [, table = ''] = (await read('docs/operators/commands.md')).split('## All commands\n');
  assert.equal(table.trim(), await verbTable());
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

/** The files of the project, the installed packages and hidden ones aside. */
async function projectFiles(): Promise<string[]> {
  const entries = await readdir(ROOT, { withFileTypes: true });
  const names = entries.filter(({ name }) => !/^\.|^node_modules$/.test(name));
  const folders = names.filter((entry) => entry.isDirectory()).map(({ name }) => name);
  const inFolders = await Promise.all(folders.map(namesUnder));
  return [...names.map(({ name }) => name), ...inFolders.flat()];
}

test('every source file that a page names exists', async () => {
  const files = await projectFiles();
  for (const [name, text] of pages) {
    const named = groups(text, /`([\w./-]+\.ts)`/g);
    const missing = named.filter((file) => !files.some((it) => `/${it}`.endsWith(`/${file}`)));
    assert.deepEqual(missing, [], name);
  }
});
