import { useMemo } from 'preact/hooks';
import { useEvery, useLoad } from '../../load.ts';
import type { Result } from '../../site-api.ts';
import { Badge } from '../../ui/badge.tsx';
import { Link } from '../../ui/button.tsx';
import { Card, Figure } from '../../ui/card.tsx';
import { Chart } from '../../ui/chart/chart.tsx';
import { formatNumber } from '../../ui/format.tsx';
import { Empty, Load, Skeleton } from '../../ui/states.tsx';
import { type Column, column, Table } from '../../ui/table.tsx';
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
  column('Tasks', ({ tasks }) => formatNumber(tasks), 'number'),
  CREDITS,
  column('Longest in it', (row) => duration(row.oldest_seconds), 'number'),
];

type Minute = Result<'GET /console/api/operator/figures'>['minutes'][number];

interface Plot {
  title: string;
  unit: string;
  series: { label: string; of: (minute: Minute) => number | null }[];
}

const OF_PROCESS: Plot[] = [
  {
    title: 'Responses of the API',
    unit: 'per minute',
    series: [
      { label: 'Responses', of: ({ responses }) => responses },
      { label: 'Status 5xx', of: ({ errors }) => errors },
      { label: 'Status 429', of: ({ limited }) => limited },
    ],
  },
  {
    title: 'Time of reads',
    unit: 'milliseconds',
    series: [
      { label: 'p50', of: (minute) => minute.read_p50 },
      { label: 'p95', of: (minute) => minute.read_p95 },
    ],
  },
  {
    title: 'Time of creates, including their wait',
    unit: 'milliseconds, p95',
    series: [{ label: 'p95', of: (minute) => minute.create_p95 }],
  },
  {
    title: 'Calls of providers',
    unit: 'per minute',
    series: [
      { label: 'Calls', of: ({ calls }) => calls },
      { label: 'Failed', of: (minute) => minute.failed_calls },
    ],
  },
];

const OF_DATABASE: Plot = {
  title: 'Tasks',
  unit: 'of all processes, at each minute',
  series: [
    { label: 'Live', of: ({ live }) => live },
    { label: 'Due', of: ({ due }) => due },
    { label: 'Held', of: ({ held }) => held },
  ],
};

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
        {[OF_DATABASE, ...OF_PROCESS].map((plot) => (
          <MinuteChart key={plot.title} plot={plot} minutes={minutes} />
        ))}
      </div>
    </Card>
  );
}

function MinuteChart({ plot, minutes }: { plot: Plot; minutes: Minute[] }) {
  const data = useMemo(
    () => ({
      times: minutes.map(({ at }) => at),
      series: plot.series.map(({ label, of }) => ({ label, values: minutes.map(of) })),
    }),
    [plot, minutes],
  );
  const last = minutes.at(-1);
  const words = plot.series.map(({ label, of }) => `${label} ${(last && of(last)) ?? 'none'}`);
  return (
    <figure class="min-w-0">
      <figcaption class="mb-2 font-medium">
        {plot.title} <span class="text-sm font-normal text-dim">{plot.unit}</span>
      </figcaption>
      <Chart
        data={data}
        label={`${plot.title}, ${plot.unit}. Last minute: ${words.join(', ')}`}
        height={150}
      />
    </figure>
  );
}
