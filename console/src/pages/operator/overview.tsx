import { useMemo } from 'preact/hooks';
import { useEvery, useLoad } from '../../load.ts';
import type { Result } from '../../site-api.ts';
import { Card, Figure } from '../../ui/card.tsx';
import { Chart } from '../../ui/chart/chart.tsx';
import { formatNumber, Money } from '../../ui/format.tsx';
import { Load, Skeleton } from '../../ui/states.tsx';
import { type Column, column, numbers, Table } from '../../ui/table.tsx';
import { Amount, Costs } from './costs.tsx';
import { Decisions } from './decisions.tsx';
import { CREDITS, duration, OperatorPage } from './frame.tsx';

type Shown = Result<'GET /console/api/operator/figures'>;

const REFRESH_MS = 30_000;

export function OverviewPage() {
  const figures = useLoad('/console/api/operator/figures');
  useEvery(REFRESH_MS, figures.reload);
  return (
    <OperatorPage
      title="Operator"
      lead="What needs your decision, today’s money, and what the service is doing."
    >
      <Decisions />
      <Load from={figures} skeleton={<Skeleton lines={12} />}>
        {({ now, today, minutes }) => (
          <>
            <Today today={today} />
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

function ageOf(rows: { oldest_seconds: number }[]): string {
  const most = Math.max(0, ...rows.map((row) => row.oldest_seconds));
  return rows.length === 0 ? '' : `, the oldest for ${duration(most)}`;
}

function Today({ today: { sold, costs } }: Pick<Shown, 'today'>) {
  return (
    <Card title="Today" note="In UTC. Costs cover today’s ended tasks (the newest 50 000 at most).">
      <div class="grid grid-cols-2 gap-6 lg:grid-cols-4">
        {sold.length === 0 && <Figure name="Sold">nothing</Figure>}
        {sold.map(({ currency, mode, price, orders }) => (
          <Figure
            key={`${currency} ${mode}`}
            name={mode === 'test' ? 'Sold in test mode' : 'Sold'}
            note={`${formatNumber(orders)} ${orders === 1 ? 'order' : 'orders'}, before taxes`}
          >
            <Money minor={price} currency={currency} />
          </Figure>
        ))}
        {costs.map((row) => (
          <Figure
            key={row.currency}
            name="Cost"
            note={
              <>
                {formatNumber(row.credits)} credits used, margin{' '}
                <Amount amount={row.margin} currency={row.currency} />
              </>
            }
          >
            <Amount amount={row.cost} currency={row.currency} />
          </Figure>
        ))}
      </div>
    </Card>
  );
}

function Now({ now }: Pick<Shown, 'now'>) {
  return (
    <Card
      title="Live tasks"
      note={
        now.due.length > 0 && `${formatNumber(total(now.due))} of them are due${ageOf(now.due)}.`
      }
    >
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
  );
}

const LIVE: Column<Shown['now']['live'][number]>[] = [
  column('Phase', ({ phase }) => phase),
  numbers('Tasks', ({ tasks }) => formatNumber(tasks)),
  CREDITS,
  numbers('Longest in phase', (row) => duration(row.oldest_seconds)),
];

type Minute = Shown['minutes'][number];

interface Plot {
  title: string;
  unit: string;
  /** The members of a minute that are plotted, by the label of their line. */
  series: Record<string, Exclude<keyof Minute, 'at'>>;
}

const PLOTS: Plot[] = [
  {
    title: 'Tasks',
    unit: 'per minute',
    // The last one is drawn on top: without a task, no line of failures is.
    series: { Failed: 'failed', Completed: 'completed', Created: 'created' },
  },
  { title: 'Live tasks', unit: 'at the end of the minute', series: { Live: 'live' } },
  {
    title: 'From create to acceptance',
    unit: 'seconds',
    series: { Median: 'accepted_p50', p95: 'accepted_p95' },
  },
  {
    title: 'From create to the stored video',
    unit: 'seconds',
    series: { Median: 'completed_p50', p95: 'completed_p95' },
  },
];

function Charts({ minutes }: { minutes: Minute[] }) {
  return (
    <Card
      title="The last two hours"
      note="Of all processes, read once a minute, without test keys. The charts show at most 50 000 tasks, so they may begin later."
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
        isBad: member === 'failed',
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
