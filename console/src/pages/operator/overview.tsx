import { useMemo } from 'preact/hooks';
import { useEvery, useLoad } from '../../load.ts';
import type { Result } from '../../site-api.ts';
import { Badge } from '../../ui/badge.tsx';
import { Link } from '../../ui/button.tsx';
import { Card, Figure } from '../../ui/card.tsx';
import { Chart } from '../../ui/chart/chart.tsx';
import { formatNumber } from '../../ui/format.tsx';
import { Empty, Load, Skeleton } from '../../ui/states.tsx';
import { type Column, column, numbers, Table } from '../../ui/table.tsx';
import { Costs } from './costs.tsx';
import { CREDITS, duration, OperatorPage } from './frame.tsx';

type Figures = Result<'GET /console/api/operator/figures'>['now'];

const REFRESH_MS = 30_000;

export function OverviewPage() {
  const figures = useLoad('/console/api/operator/figures');
  useEvery(REFRESH_MS, figures.reload);
  return (
    <OperatorPage title="Operator" lead="What the service is doing, and what needs your decision.">
      <Load from={figures} skeleton={<Skeleton lines={12} />}>
        {({ now, minutes }) => (
          <>
            <Now now={now} />
            <Charts minutes={minutes} />
          </>
        )}
      </Load>
      <Costs />
    </OperatorPage>
  );
}

function total(rows: { tasks: number }[]): number {
  return rows.reduce((sum, { tasks }) => sum + tasks, 0);
}

function oldest(rows: { oldest_seconds: number }[]): string | undefined {
  const most = Math.max(0, ...rows.map((row) => row.oldest_seconds));
  return rows.length === 0 ? undefined : `oldest ${duration(most)}`;
}

function Now({ now }: { now: Figures }) {
  const orphans = now.orphans.reduce((sum, { jobs }) => sum + jobs, 0);
  return (
    <>
      <div class="grid grid-cols-2 gap-6 lg:grid-cols-4">
        <Figure name="Held tasks" note={oldest(now.held)}>
          {formatNumber(total(now.held))}
        </Figure>
        <Figure name="Due tasks" note={oldest(now.due)}>
          {formatNumber(total(now.due))}
        </Figure>
        <Figure name="Live tasks">{formatNumber(total(now.live))}</Figure>
        <Figure name="Orphan jobs">{formatNumber(orphans)}</Figure>
      </div>
      {now.closed.length > 0 && <Closed closed={now.closed} />}
      <Card title="Live tasks by phase">
        {now.live.length === 0 ? (
          <p class="text-dim">No task is under way.</p>
        ) : (
          <Table
            caption="Live tasks by phase"
            rows={now.live}
            keyOf={({ phase }) => phase}
            columns={LIVE}
          />
        )}
      </Card>
    </>
  );
}

function Closed({ closed }: Pick<Figures, 'closed'>) {
  return (
    <Card title="Closed now">
      <ul class="grid gap-2">
        {closed.map(({ subject, cause, seconds }) => (
          <li key={`${subject} ${cause}`} class="flex flex-wrap gap-4">
            <Badge tone="bad">{subject}</Badge>
            <span class="text-dim">
              {cause}, for {duration(seconds)}
            </span>
          </li>
        ))}
      </ul>
      <p class="mt-4">
        <Link href="/operator/providers">Open Providers</Link>
      </p>
    </Card>
  );
}

const LIVE: Column<Figures['live'][number]>[] = [
  column('Phase', ({ phase }) => phase),
  numbers('Tasks', ({ tasks }) => formatNumber(tasks)),
  CREDITS,
  numbers('Longest in phase', (row) => duration(row.oldest_seconds)),
];

type Minute = Result<'GET /console/api/operator/figures'>['minutes'][number];

interface Plot {
  title: string;
  unit: string;
  /** The members of a minute that are plotted, by the label of their line. */
  series: Record<string, Exclude<keyof Minute, 'at'>>;
}

const PLOTS: Plot[] = [
  {
    title: 'Tasks',
    unit: 'of all processes, at each minute',
    series: { Live: 'live', Due: 'due', Held: 'held' },
  },
  {
    title: 'Responses of the API',
    unit: 'per minute',
    series: { Responses: 'responses', 'Status 5xx': 'errors', 'Status 429': 'limited' },
  },
  {
    title: 'Duration of reads',
    unit: 'milliseconds',
    series: { p50: 'read_p50', p95: 'read_p95' },
  },
  {
    title: 'Duration of creates, including their wait',
    unit: 'milliseconds, p95',
    series: { p95: 'create_p95' },
  },
  {
    title: 'Calls to providers',
    unit: 'per minute',
    series: { Calls: 'calls', Failed: 'failed_calls' },
  },
];

function Charts({ minutes }: { minutes: Minute[] }) {
  if (minutes.length < 2) {
    return (
      <Empty title="No data for the charts yet">
        They appear about two minutes after the process that responds to you has started.
      </Empty>
    );
  }
  return (
    <Card
      title="The last two hours"
      note="Tasks are counted in the whole database. Everything else is counted by the process that responds to you, since its start. With several processes, use the metrics."
    >
      <div class="grid gap-x-10 gap-y-9 lg:grid-cols-2">
        {PLOTS.map((plot) => (
          <MinuteChart key={plot.title} {...plot} minutes={minutes} />
        ))}
      </div>
    </Card>
  );
}

function MinuteChart({ title, unit, series, minutes }: Plot & { minutes: Minute[] }) {
  const data = useMemo(
    () => ({
      times: minutes.map(({ at }) => at),
      series: Object.entries(series).map(([label, member]) => ({
        label,
        values: minutes.map((minute) => minute[member]),
      })),
    }),
    [series, minutes],
  );
  const last = data.series.map(({ label, values }) => `${label} ${values.at(-1) ?? 'none'}`);
  return (
    <figure class="min-w-0">
      <figcaption class="mb-2 font-medium">
        {title} <span class="text-sm font-normal text-dim">{unit}</span>
      </figcaption>
      <Chart
        data={data}
        label={`${title}, ${unit}. Last minute: ${last.join(', ')}`}
        height={150}
      />
    </figure>
  );
}
