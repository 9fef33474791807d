import { useMemo } from 'preact/hooks';
import { useLocation } from 'preact-iso';
import type { Usage, UsageEntry } from '../../../../server/src/site/tasks/read-usage.ts';
import { useLoad } from '../../load.ts';
import { useMode } from '../../session.tsx';
import { addressOf } from '../../site-api.ts';
import { ButtonLink } from '../../ui/button.tsx';
import { Card, Figure } from '../../ui/card.tsx';
import { Chart } from '../../ui/chart/chart.tsx';
import type { ChartData } from '../../ui/chart/plot.ts';
import { Segments } from '../../ui/form/controls.tsx';
import { Field } from '../../ui/form/field.tsx';
import { Credits, formatNumber } from '../../ui/format.tsx';
import { Page } from '../../ui/page.tsx';
import { Empty, Load } from '../../ui/states.tsx';
import { type Column, Table } from '../../ui/table.tsx';

const PERIODS = ['7', '30', '90', '365'];

export default function UsagePage() {
  const { query, route } = useLocation();
  const to = query.to ?? today();
  const from = query.from ?? daysUntil(to, 30);
  const set = (next: { from: string; to: string }) =>
    route(`/usage?${new URLSearchParams(next)}`, true);
  const mode = useMode();
  const period = { query: { mode, from, to } };
  const loaded = useLoad('/console/api/usage', period);
  return (
    <Page
      title="Usage"
      lead="Credits and videos by the day of the request (UTC). Credits of videos that are being made count too; refunds do not."
      actions={
        <ButtonLink
          icon="download"
          href={addressOf('/console/api/usage.csv', period)}
          download={mode === 'test' ? 'test-usage.csv' : 'usage.csv'}
        >
          Download CSV
        </ButtonLink>
      }
    >
      <Period from={from} to={to} onChange={set} />
      <Load from={loaded} skeleton={<Blank />}>
        {(usage) => (usage.rows.length === 0 ? <Nothing /> : <Shown usage={usage} />)}
      </Load>
    </Page>
  );
}

function Period({
  from,
  to,
  onChange,
}: {
  from: string;
  to: string;
  onChange: (period: { from: string; to: string }) => void;
}) {
  const isRecent = to === today();
  const days = PERIODS.find((count) => isRecent && daysUntil(to, Number(count)) === from) ?? '';
  const choices = PERIODS.map((count) => ({ value: count, label: `${count} days` }));
  return (
    <div class="flex flex-wrap items-end gap-x-8 gap-y-4">
      <Segments
        label="Period"
        value={days}
        choices={choices}
        onChange={(count) => onChange({ from: daysUntil(today(), Number(count)), to: today() })}
      />
      <div class="flex flex-wrap gap-4">
        <Field
          label="From"
          type="date"
          value={from}
          max={to}
          onChange={(first) => first && onChange({ from: first, to })}
        />
        <Field
          label="To"
          type="date"
          value={to}
          min={from}
          max={today()}
          onChange={(last) => last && onChange({ from, to: last })}
        />
      </div>
    </div>
  );
}

function Shown({ usage }: { usage: Usage }) {
  const total = totalOf(usage.rows);
  const charts = useMemo(
    () => ({ credits: chartOf(usage, 'credits'), videos: chartOf(usage, 'videos') }),
    [usage],
  );
  return (
    <>
      <div class="grid grid-cols-2 gap-6 sm:grid-cols-3">
        <Figure name="Credits">
          <Credits value={total.credits} />
        </Figure>
        <Figure name="Videos">{formatNumber(total.videos)}</Figure>
        <Figure name="Failed and refunded">{formatNumber(total.failed)}</Figure>
      </div>
      <Card title="Credits by day">
        <Chart
          kind="bars"
          data={charts.credits}
          label="Credits by day; the table has the numbers"
        />
      </Card>
      <Card title="Videos by day">
        <Chart kind="bars" data={charts.videos} label="Videos by day; the table has the numbers" />
      </Card>
      <div class="grid gap-6 lg:grid-cols-2">
        <Card title="By model">
          <SumsTable name="Model" rows={sumsBy(usage.rows, ({ model }) => model)} />
        </Card>
        <Card title="By API key">
          <SumsTable name="API key" rows={sumsBy(usage.rows, keyName)} />
        </Card>
      </div>
      <Card title="By day">
        <SumsTable name="Day" rows={sumsBy(usage.rows, ({ day }) => day).reverse()} />
      </Card>
    </>
  );
}

function keyName({ surface, api_key_id: id, api_key_name: name }: Usage['rows'][number]): string {
  if (surface === 'web' || (surface === 'test' && id === null)) return 'Website';
  return name ?? id ?? 'Not recorded';
}

function SumsTable({ name, rows }: { name: string; rows: Sums[] }) {
  const columns: Column<Sums>[] = [
    { title: name, cell: (row) => <span class="break-all">{row.name}</span> },
    { title: 'Videos', kind: 'number', cell: (row) => formatNumber(row.videos) },
    { title: 'Failed', kind: 'number', cell: (row) => formatNumber(row.failed) },
    { title: 'Credits', kind: 'number', cell: (row) => <Credits value={row.credits} /> },
  ];
  return (
    <Table caption={`Usage by ${name}`} columns={columns} rows={rows} keyOf={(row) => row.name} />
  );
}

function Nothing() {
  return (
    <Empty
      title="Nothing was used in this period"
      action={
        <ButtonLink look="primary" icon="play" href="/playground">
          Open the playground
        </ButtonLink>
      }
    >
      Choose a longer period, or make a video.
    </Empty>
  );
}

function Blank() {
  return (
    <div class="grid gap-6">
      <div class="blank h-14" />
      <div class="blank h-72" />
      <div class="blank h-72" />
    </div>
  );
}

/** What was used under one name, such as a day or a model. */
export interface Sums {
  name: string;
  videos: number;
  failed: number;
  credits: number;
}

/** One row for each name, in the order of the names' first rows. */
export function sumsBy(rows: UsageEntry[], nameOf: (row: UsageEntry) => string): Sums[] {
  const sums = new Map<string, Sums>();
  for (const row of rows) {
    const name = nameOf(row);
    const { videos, failed, credits } = sums.get(name) ?? { videos: 0, failed: 0, credits: 0 };
    sums.set(name, {
      name,
      videos: videos + row.videos,
      failed: failed + row.failed,
      credits: credits + row.credits,
    });
  }
  return [...sums.values()];
}

export function totalOf(rows: UsageEntry[]): Sums {
  return sumsBy(rows, () => '')[0] ?? { name: '', videos: 0, failed: 0, credits: 0 };
}

const DAY_MS = 86_400_000;

/** A chart over every day of the period, also those without a row. */
export function chartOf({ from, to, rows }: Usage, value: 'credits' | 'videos'): ChartData {
  const days: string[] = [];
  for (let at = Date.parse(from); at <= Date.parse(to); at += DAY_MS) days.push(dayOf(at));
  const byDay = new Map(sumsBy(rows, ({ day }) => day).map((sums) => [sums.name, sums]));
  return {
    times: days.map((day) => Date.parse(day) / 1000),
    series: [
      {
        label: value === 'credits' ? 'Credits' : 'Videos',
        values: days.map((day) => byDay.get(day)?.[value] || null),
      },
    ],
  };
}

function dayOf(time: number): string {
  return new Date(time).toISOString().slice(0, 10);
}

/** The present day, UTC. */
export function today(): string {
  return dayOf(Date.now());
}

/** The first day of so many days that end with this one. */
export function daysUntil(last: string, count: number): string {
  return dayOf(Date.parse(last) - (count - 1) * DAY_MS);
}
