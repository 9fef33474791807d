import { useState } from 'preact/hooks';
import { useList } from '../../load.ts';
import { addressOf, type Item } from '../../site-api.ts';
import { ButtonLink } from '../../ui/button.tsx';
import { Card } from '../../ui/card.tsx';
import { Segments } from '../../ui/form/controls.tsx';
import { binding } from '../../ui/form/field.tsx';
import { formatNumber } from '../../ui/format.tsx';
import { Empty } from '../../ui/states.tsx';
import { type Column, column, ListTable, numbers, prose } from '../../ui/table.tsx';
import { AccountLink, AskButton, CREDITS } from './frame.tsx';

type Row = Item<'GET /console/api/operator/costs'>;

const GROUPS = { day: 'Day', model: 'Model', connection: 'Connection', account: 'Customer' };

/** What ended tasks cost, and the margin over the price of their credits. */
export function Costs() {
  const [asked, setAsked] = useState({ per: 'day', days: '7' });
  const field = binding(asked, (change) => setAsked((before) => ({ ...before, ...change })));
  const query = { query: asked };
  return (
    <Card
      title="Costs and margin"
      note="Ended tasks among the newest 50 000, by the day of their request (UTC). The CSV has all; the command “costs list” has other periods."
      actions={
        <ButtonLink
          icon="download"
          href={addressOf('/console/api/operator/costs.csv', query)}
          download="costs.csv"
        >
          Download CSV
        </ButtonLink>
      }
    >
      <div class="mb-6 flex flex-wrap items-end gap-x-8 gap-y-4">
        <Segments label="By" choices={GROUPS} {...field('per')} />
        <Segments label="Period" choices={{ 7: '7 days', 30: '30 days' }} {...field('days')} />
      </div>
      <ListTable
        list={useList('/console/api/operator/costs', query)}
        empty={
          <Empty title="No task has ended in this period">
            A job’s cost is known when it ends.
          </Empty>
        }
        caption="Costs"
        columns={COLUMNS[asked.per] ?? COSTS}
        keyOf={({ group, currency }) => `${group} ${currency}`}
      />
    </Card>
  );
}

const COSTS: Column<Row>[] = [
  numbers('Tasks', ({ tasks }) => formatNumber(tasks)),
  numbers('Seconds', ({ seconds }) => formatNumber(seconds)),
  CREDITS,
  numbers('Cost', ({ cost, currency }) => <Amount amount={cost} currency={currency} />),
  numbers('Margin', ({ margin, currency }) => (
    <span class={Number(margin) < 0 ? 'text-bad' : ''}>
      <Amount amount={margin} currency={currency} />
    </span>
  )),
  numbers('Differ from the terms', ({ differing }) => formatNumber(differing)),
];

const TERMS: Column<Row> = column('', ({ group }) => (
  <div class="flex md:justify-end">
    <AskButton small item={group} change={{ verb: 'terms set', given: { connection: group } }}>
      Set the terms
    </AskButton>
  </div>
));

const named = (title: string): Column<Row> =>
  column(title, ({ group }) => <span class="font-medium">{group}</span>);

const COLUMNS: Record<string, Column<Row>[]> = {
  day: [named(GROUPS.day), ...COSTS],
  model: [named(GROUPS.model), ...COSTS],
  connection: [named(GROUPS.connection), ...COSTS, TERMS],
  account: [
    prose(GROUPS.account, ({ group, email }) => <AccountLink row={{ account_id: group, email }} />),
    ...COSTS,
  ],
};

const DECIMALS = new Intl.NumberFormat('en-US', {
  minimumFractionDigits: 2,
  maximumFractionDigits: 4,
});

export function Amount({ amount, currency }: { amount: string | null; currency: string | null }) {
  if (amount === null || currency === null) return <span class="text-dim">not known</span>;
  return (
    <span class="whitespace-nowrap">
      {currency.toUpperCase()} {DECIMALS.format(Number(amount))}
    </span>
  );
}
