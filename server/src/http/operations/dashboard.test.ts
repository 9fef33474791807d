import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { temporaryFolder } from '../../../test/temporary-folder.ts';
import { METRICS, type MetricName, metric } from './metric-list.ts';

/** The file that operators import into Grafana. */
const DASHBOARD_FILE = new URL('../../../../docs/operators/dashboard.json', import.meta.url);

interface Panel {
  title: string;
  targets?: { expr: string }[];
}

const dashboard: { panels: Panel[] } = JSON.parse(await readFile(DASHBOARD_FILE, 'utf8'));
const queries = dashboard.panels.flatMap(({ title, targets = [] }) =>
  targets.map(({ expr }) => ({ title, expr: expr.replaceAll('$__rate_interval', '5m') })),
);

/** The metric that a series belongs to: a histogram has three kinds of series. */
function metricOf(series: string): MetricName {
  const name = series in METRICS ? series : series.replace(/_(bucket|sum|count)$/, '');
  assert.ok(name in METRICS, `there is no ${series}`);
  assert.equal(name === series, metric(name as MetricName).kind !== 'histogram', series);
  return name as MetricName;
}

test('each metric has a panel, and each panel asks for metrics and labels that there are', () => {
  const shown = new Set<string>();
  for (const { title, expr } of queries) {
    const names = [...expr.matchAll(/\bframewright_\w+/g)].map(([series]) => metricOf(series));
    assert.notEqual(names.length, 0, title);
    for (const name of names) shown.add(name);
    const known = new Set(['job', 'le', ...names.flatMap((name) => metric(name).labels)]);
    const grouped = [...expr.matchAll(/by \(([^)]*)\)/g)].flatMap(([, list = '']) =>
      list.split(', '),
    );
    const selected = [...expr.matchAll(/(\w+)=~?"/g)].map(([, label = '']) => label);
    const strange = [...grouped, ...selected].filter((label) => !known.has(label));
    assert.deepEqual(strange, [], `${title}: ${expr}`);
  }
  assert.deepEqual([...shown].sort(), Object.keys(METRICS).sort());
});

const promtool = process.env.FRAMEWRIGHT_PROMTOOL;

test('promtool accepts the alert rules and each query of the dashboard', {
  skip: promtool === undefined && 'set FRAMEWRIGHT_PROMTOOL to the program',
}, async () => {
  await using folder = await temporaryFolder();
  const file = path.join(folder.path, 'queries.yml');
  const rules = queries.map(
    ({ expr }, i) => `      - record: query_${i}\n        expr: ${JSON.stringify(expr)}\n`,
  );
  await writeFile(file, `groups:\n  - name: dashboard\n    rules:\n${rules.join('')}`);
  const alerts = new URL('./alerts.yml', DASHBOARD_FILE).pathname;
  const { status, stdout, stderr } = spawnSync(
    promtool ?? '',
    ['check', 'rules', '--lint=none', file, alerts],
    { encoding: 'utf8' },
  );
  assert.equal(status, 0, stdout + stderr);
  assert.ok(stdout.includes(`${queries.length} rules found`), stdout);
});
