import { METRICS, type MetricName, metric } from './metric-list.ts';

/** One query of a panel, and how its lines are named. */
type Target = ReturnType<typeof target>;

interface Panel {
  id: number;
  type: 'timeseries' | 'row';
  title: string;
  description?: string;
  gridPos: { x: number; y: number; w: number; h: number };
  datasource?: { type: 'prometheus'; uid: string };
  fieldConfig?: object;
  options?: object;
  targets?: Target[];
}

type Drawn = Pick<Panel, 'title' | 'targets'> & { unit: string; description: string };

const COLUMNS = 24;
const SIZE = { w: 8, h: 8 };
const DATA_SOURCE = { type: 'prometheus', uid: '$datasource' } as const;
const JOB = 'job="framewright"';
const CREATES = 'route="/api/v1/video/generations"';

const CREATES_PER_SECOND = perSecond('http_responses_total', ['status'], CREATES);
const PLACES_IN_USE = ['tasks', 'places']
  .map((what) => `sum by (pool) (framewright_pool_${what}{${JOB}})`)
  .join(' / ');

/** What an operator asks first. The other panels are made from the list of metrics. */
const OVERVIEW: Drawn[] = [
  {
    title: 'Creates per second',
    description: 'Requests to create a task, by status. 503: not accepted.',
    unit: 'reqps',
    targets: [target('A', CREATES_PER_SECOND, '{{status}}')],
  },
  {
    title: 'Tasks that end per second',
    description: 'completed: a video was delivered. failed: the credits were refunded.',
    unit: 'ops',
    targets: [target('A', perSecond('task_seconds_count', ['outcome']), '{{outcome}}')],
  },
  {
    title: 'Create to end',
    description: 'Half of the tasks, and 99 of 100, end within this time.',
    unit: 's',
    targets: quantiles('framewright_task_seconds', ['outcome']),
  },
  {
    title: 'Work that waits',
    description: 'How long the task that has waited longest has been due, by worker pool.',
    unit: 's',
    targets: [target('A', latest('framewright_oldest_due_seconds', ['pool']), '{{pool}}')],
  },
  {
    title: 'Places in use',
    description: 'Share of the places of all workers that are taken. At 1, add workers.',
    unit: 'percentunit',
    targets: [target('A', PLACES_IN_USE, '{{pool}}')],
  },
  {
    title: 'Connections in use',
    description: 'Database connections in use on average, all processes together.',
    unit: 'short',
    targets: [
      target(
        'A',
        perSecond('database_seconds_sum', ['part'], 'part=~"query|transaction"'),
        '{{part}}',
      ),
    ],
  },
];

/** The dashboard: an overview, and for each section of the list a row with a panel per metric. */
export function buildDashboard() {
  const names = Object.keys(METRICS) as MetricName[];
  const sections = [...new Set(names.map((name) => metric(name).section))];
  const rows = [
    { title: 'Overview', panels: OVERVIEW },
    ...sections.map((title) => ({
      title,
      panels: names.filter((name) => metric(name).section === title).map(panelOf),
    })),
  ];
  return {
    uid: 'framewright',
    title: 'Framewright',
    tags: ['framewright'],
    editable: true,
    schemaVersion: 39,
    time: { from: 'now-6h', to: 'now' },
    refresh: '30s',
    timezone: '',
    annotations: { list: [] },
    templating: {
      list: [{ name: 'datasource', label: 'Data source', type: 'datasource', query: 'prometheus' }],
    },
    panels: arrange(rows),
  };
}

/** Gives each panel its place, from left to right in rows. */
function arrange(rows: { title: string; panels: Drawn[] }[]): Panel[] {
  const arranged: Panel[] = [];
  let y = 0;
  const nextId = () => arranged.length + 1;
  for (const { title, panels } of rows) {
    arranged.push({ id: nextId(), type: 'row', title, gridPos: { x: 0, y, w: COLUMNS, h: 1 } });
    y += 1;
    const perRow = COLUMNS / SIZE.w;
    for (const [index, panel] of panels.entries()) {
      const x = (index % perRow) * SIZE.w;
      const gridPos = { x, y: y + Math.floor(index / perRow) * SIZE.h, ...SIZE };
      arranged.push(drawn(nextId(), gridPos, panel));
    }
    y += Math.ceil(panels.length / perRow) * SIZE.h;
  }
  return arranged;
}

function drawn(id: number, gridPos: Panel['gridPos'], panel: Drawn): Panel {
  const { title, description, unit, targets = [] } = panel;
  return {
    id,
    type: 'timeseries',
    title,
    description,
    gridPos,
    datasource: DATA_SOURCE,
    fieldConfig: {
      defaults: { unit, min: 0, custom: { fillOpacity: 10, showPoints: 'never' } },
      overrides: [],
    },
    options: {
      legend: { displayMode: 'list', placement: 'bottom', showLegend: true },
      tooltip: { mode: 'multi', sort: 'desc' },
    },
    targets,
  };
}

function panelOf(name: MetricName): Drawn {
  const { kind, title, help, labels } = metric(name);
  const description = `${help} (${name})`;
  const legend = labels.map((label) => `{{${label}}}`).join(' ');
  switch (kind) {
    case 'histogram':
      return { title, description, unit: unitOf(name), targets: quantiles(name, labels) };
    case 'counter': {
      const expr = perSecond(name.replace('framewright_', ''), labels);
      return {
        title: `${title} per second`,
        description,
        unit: 'short',
        targets: [target('A', expr, legend)],
      };
    }
    case 'process gauge': {
      const expr = `sum by (${labels.join(', ')}) (${name}{${JOB}})`;
      return { title, description, unit: unitOf(name), targets: [target('A', expr, legend)] };
    }
    case 'database gauge': {
      const targets = [target('A', latest(name, labels), legend)];
      return { title, description, unit: unitOf(name), targets };
    }
  }
}

function unitOf(name: string): string {
  return name.endsWith('_seconds') ? 's' : 'short';
}

function target(refId: string, expr: string, legendFormat: string) {
  return { refId, expr, legendFormat };
}

/** All processes show the same value of a gauge of the database. */
function latest(name: string, labels: readonly string[]): string {
  return `max by (${labels.join(', ')}) (${name}{${JOB}})`;
}

function perSecond(name: string, labels: readonly string[], selector = ''): string {
  const selected = [JOB, selector].filter((part) => part !== '').join(', ');
  return `sum by (${labels.join(', ')}) (rate(framewright_${name}{${selected}}[$__rate_interval]))`;
}

function quantiles(name: string, labels: readonly string[]): Target[] {
  const legend = labels.map((label) => `{{${label}}}`).join(' ');
  const buckets = perSecond(`${name.replace('framewright_', '')}_bucket`, ['le', ...labels]);
  return [
    target('A', `histogram_quantile(0.5, ${buckets})`, `${legend} p50`),
    target('B', `histogram_quantile(0.99, ${buckets})`, `${legend} p99`),
  ];
}
