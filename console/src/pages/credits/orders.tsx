import type { OrderShown } from '../../../../server/src/site/billing/orders.ts';
import { useList } from '../../load.ts';
import { Badge, type Tone } from '../../ui/badge.tsx';
import { Link } from '../../ui/button.tsx';
import { Credits, Money, RelativeTime } from '../../ui/format.tsx';
import { type Column, ListCard } from '../../ui/table.tsx';
import { PortalButton } from './subscription.tsx';

const STATES: Record<OrderShown['state'], { tone: Tone; word: string }> = {
  pending: { tone: 'busy', word: 'Not paid yet' },
  under_way: { tone: 'busy', word: 'Payment under way' },
  paid: { tone: 'good', word: 'Paid' },
  failed: { tone: 'bad', word: 'Payment failed' },
  expired: { tone: 'neutral', word: 'Expired, not paid' },
  mismatched: { tone: 'busy', word: 'Being checked' },
  refunded: { tone: 'neutral', word: 'Refunded' },
  part_refunded: { tone: 'neutral', word: 'Partly refunded' },
  disputed: { tone: 'bad', word: 'Disputed' },
};

const KINDS: Record<OrderShown['kind'], string> = {
  pack: '',
  reload: ' (auto-reload)',
  invoice: ' (subscription)',
};

const COLUMNS: Column<OrderShown>[] = [
  { title: 'Time', cell: ({ created_at: at }) => <RelativeTime at={at} /> },
  { title: 'Purchase', cell: ({ name, kind }) => name + KINDS[kind] },
  {
    title: 'Status',
    cell: ({ state }) => <Badge tone={STATES[state].tone}>{STATES[state].word}</Badge>,
  },
  { title: 'Credits', kind: 'number', cell: ({ credits }) => <Credits value={credits} /> },
  {
    title: 'Price',
    kind: 'number',
    cell: ({ price, currency }) => <Money minor={price} currency={currency} />,
  },
  { title: 'Receipt', cell: (order) => <Papers order={order} /> },
];

function Papers({ order }: { order: OrderShown }) {
  if (order.checkout_url) return <Link href={order.checkout_url}>Pay</Link>;
  if (order.receipt_url) return <Link href={order.receipt_url}>Receipt</Link>;
  return <span class="text-dim">–</span>;
}

/** What the account has bought. Nothing is shown before the first purchase. */
export function Orders({ hasPortal = false }: { hasPortal?: boolean | undefined }) {
  const list = useList('/console/api/orders');
  return (
    <ListCard
      list={list}
      empty={null}
      card={{
        title: 'Purchases',
        actions: hasPortal && <PortalButton label="Cards and invoices" />,
      }}
      caption="Purchases, the newest first"
      columns={COLUMNS}
      keyOf={({ id }) => id}
    />
  );
}
