import { useMemo } from 'preact/hooks';
import { useLocation } from 'preact-iso';
import type { Usage, UsageEntry } from '../../../../server/src/site/tasks/usage.ts';
import { useLoad } from '../../load.ts';
import { useMode } from '../../session.tsx';
import { addressOf } from '../../site-api.ts';
import { ButtonLink } from '../../ui/button.tsx';
import { Card, Figure } from '../../ui/card.tsx';
import { Chart } from '../../ui/chart/chart.tsx';
import type { ChartData } from '../../ui/chart/plot.ts';
import { Segments } from '../../ui/form/controls.tsx';
import { Field } from '../../ui/form/field.tsx';
import { addDays, Credits, formatNumber } from '../../ui/format.tsx';
import { Page } from '../../ui/page.tsx';
import { Empty, Load } from '../../ui/states.tsx';
import { type Column, column, numbers, TableCard } from '../../ui/table.tsx';

const PERIODS = ['7', '30', '90', '365'];

export default function UsagePage() {
  const { query } = useLocation();
  const to = query.to ?? today();
  const from = query.from ?? firstDay(to, 30);
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
      <Period from={from} to={to} />
      <Load from={loaded} skeleton={BLANK}>
        {(usage) => (usage.rows.length === 0 ? NOTHING : <Shown usage={usage} />)}
      </Load>
    </Page>
  );
}

type Interval = Pick<Usage, 'from' | 'to'>;

function Period({ from, to }: Interval) {
  const { route } = useLocation();
  const show = (next: Interval) => route(`/usage?${new URLSearchParams(next)}`, true);
  const isRecent = to === today();
  const days = PERIODS.find((count) => isRecent && firstDay(to, Number(count)) === from) ?? '';
  const choices = PERIODS.map((count) => ({ value: count, label: `${count} days` }));
  return (
    <div class="flex flex-wrap items-end gap-x-8 gap-y-4">
      <Segments
        label="Period"
        value={days}
        choices={choices}
        onChange={(count) => show({ from: firstDay(today(), Number(count)), to: today() })}
      />
      <div class="flex flex-wrap gap-4">
        <Field
          label="From"
          type="date"
          value={from}
          max={to}
          onChange={(first) => first && show({ from: first, to })}
        />
        <Field
          label="To"
          type="date"
          value={to}
          min={from}
          max={today()}
          onChange={(last) => last && show({ from, to: last })}
        />
      </div>
    </div>
  );
}

function Shown({ usage }: { usage: Usage }) {
  return (
    <>
      <div class="grid grid-cols-2 gap-6 sm:grid-cols-3">
        <Figure name="Credits">
          <Credits value={sum(usage.rows, 'credits')} />
        </Figure>
        <Figure name="Videos">{formatNumber(sum(usage.rows, 'videos'))}</Figure>
        <Figure name="Failed and refunded">{formatNumber(sum(usage.rows, 'failed'))}</Figure>
      </div>
      <DayChart usage={usage} value="credits" name="Credits" />
      <DayChart usage={usage} value="videos" name="Videos" />
      <div class="grid gap-6 lg:grid-cols-2">
        <SumsCard title="By model" name="Model" rows={sumsBy(usage.rows, ({ model }) => model)} />
        <SumsCard title="By API key" name="API key" rows={sumsBy(usage.rows, keyName)} />
      </div>
      <SumsCard title="By day" name="Day" rows={sumsBy(usage.rows, ({ day }) => day).reverse()} />
    </>
  );
}

/** A chart of every day in the period, including days without usage. */
function DayChart({ usage, value, name }: { usage: Usage; value: Value; name: string }) {
  const data = useMemo(() => chartOf(usage, value, name), [usage]);
  return (
    <Card title={`${name} by day`}>
      <Chart kind="bars" data={data} label={`${name} by day; the table has the numbers`} />
    </Card>
  );
}

function keyName({ surface, api_key_id: id, api_key_name: name }: Usage['rows'][number]): string {
  if (surface === 'web' || (surface === 'test' && id === null)) return 'Website';
  return name ?? id ?? 'Not recorded';
}

function SumsCard({ title, name, rows }: { title: string; name: string; rows: Sums[] }) {
  const columns: Column<Sums>[] = [
    column(name, (row) => <span class="break-all">{row.name}</span>),
    numbers('Videos', (row) => formatNumber(row.videos)),
    numbers('Failed', (row) => formatNumber(row.failed)),
    numbers('Credits', (row) => <Credits value={row.credits} />),
  ];
  return <TableCard title={title} caption={`Usage by ${name}`} columns={columns} rows={rows} />;
}

const NOTHING = (
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

const BLANK = (
  <div class="grid gap-6">
    <div class="blank h-14" />
    <div class="blank h-72" />
    <div class="blank h-72" />
  </div>
);

type Value = 'videos' | 'failed' | 'credits';

type Sums = { name: string } & Record<Value, number>;

function sum(rows: UsageEntry[], value: Value): number {
  return rows.reduce((total, row) => total + row[value], 0);
}

function sumsBy(rows: UsageEntry[], nameOf: (row: UsageEntry) => string): Sums[] {
  return [...Map.groupBy(rows, nameOf)].map(([name, group]) => ({
    name,
    videos: sum(group, 'videos'),
    failed: sum(group, 'failed'),
    credits: sum(group, 'credits'),
  }));
}

function chartOf({ from, to, rows }: Usage, value: Value, label: string): ChartData {
  const byDay = Map.groupBy(rows, ({ day }) => day);
  const days: string[] = [];
  for (let day = from; day <= to; day = addDays(day, 1)) days.push(day);
  return {
    times: days.map((day) => Date.parse(day) / 1000),
    series: [{ label, values: days.map((day) => sum(byDay.get(day) ?? [], value) || null) }],
  };
}

function today(): string {
  return new Date().toISOString().slice(0, 10);
}

/** The first of `count` days that end with `last`. */
function firstDay(last: string, count: number): string {
  return addDays(last, 1 - count);
}
