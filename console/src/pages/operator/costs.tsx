import { useList } from '../../load.ts';
import type { Item } from '../../site-api.ts';
import { Badge } from '../../ui/badge.tsx';
import { formatNumber } from '../../ui/format.tsx';
import { type Column, column, ListCard, numbers } from '../../ui/table.tsx';
import { AskButton, CREDITS } from './frame.tsx';

type Row = Item<'GET /console/api/operator/costs'>;

/** What each connection's jobs cost; hidden while no task has ended. */
export function Costs() {
  return (
    <ListCard
      card={{
        title: 'Costs of the last seven days',
        note: 'What the provider reported, or what your terms say. The command “costs list” has other periods, and costs per day, model and account.',
      }}
      caption="Costs"
      list={useList('/console/api/operator/costs')}
      empty={null}
      lines={2}
      columns={COSTS}
      keyOf={({ group, currency }) => `${group} ${currency}`}
    />
  );
}

const COSTS: Column<Row>[] = [
  column('Connection', ({ group }) => <span class="font-medium">{group}</span>),
  numbers('Tasks', ({ tasks }) => formatNumber(tasks)),
  numbers('Seconds', ({ seconds }) => formatNumber(seconds)),
  CREDITS,
  numbers('Cost', ({ cost, currency }) => <Amount amount={cost} currency={currency} />),
  numbers('Margin', ({ margin, currency }) =>
    Number(margin) < 0 ? (
      <Badge tone="bad">
        <Amount amount={margin} currency={currency} />
      </Badge>
    ) : (
      <Amount amount={margin} currency={currency} />
    ),
  ),
  numbers('Unlike the terms', ({ differing }) => formatNumber(differing)),
  column('', ({ group }) => (
    <div class="flex md:justify-end">
      <AskButton small item={group} change={{ verb: 'terms set', given: { connection: group } }}>
        Set the terms
      </AskButton>
    </div>
  )),
];

function Amount({ amount, currency }: { amount: string | null; currency: string | null }) {
  if (amount === null || currency === null) return <span class="text-dim">not known</span>;
  const shown = new Intl.NumberFormat('en-US', { maximumFractionDigits: 4 }).format(Number(amount));
  return `${currency.toUpperCase()} ${shown}`;
}
