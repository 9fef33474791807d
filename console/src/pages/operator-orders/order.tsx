import { isMissing, useLoad } from '../../load.ts';
import type { OperatorOrder, OperatorOrderDetails } from '../../operator-shapes.ts';
import { Badge } from '../../ui/badge.tsx';
import { Link } from '../../ui/button.tsx';
import { Card, Facts } from '../../ui/card.tsx';
import { Credits, DateTime, Money } from '../../ui/format.tsx';
import { Load, Skeleton } from '../../ui/states.tsx';
import { Table } from '../../ui/table.tsx';
import { AccountLink, AskButton, NoSuch, OperatorPage } from '../operator/frame.tsx';
import type { Change } from '../operator-verbs/verb-dialog.tsx';

/** What asks Stripe about an order again. */
export function settleOf(id: string): Change {
  return { verb: 'orders settle', given: { id } };
}

/** One order, and the movements of its credits. */
export function OrderPage({ id }: { id: string }) {
  const loaded = useLoad('/console/api/operator/orders/:id', { params: { id } });
  if (isMissing(loaded)) return <NoSuch what="Order" id={id} />;
  return (
    <OperatorPage
      title="Order"
      lead={<span class="figures text-base break-all">{id}</span>}
      actions={loaded.data && <AskButton change={settleOf(id)}>Settle</AskButton>}
      onDone={loaded.reload}
    >
      <Load from={loaded} skeleton={<Skeleton lines={12} />}>
        {(order) => <Details order={order} />}
      </Load>
    </OperatorPage>
  );
}

function Details({ order }: { order: OperatorOrderDetails }) {
  const { price, amount, currency, refunded, receipt_url: receipt } = order;
  const money = (minor: number) => <Money minor={minor} currency={currency} />;
  const facts = [
    { name: 'State', value: <OrderState order={order} /> },
    { name: 'Sold', value: `${order.offer} (${order.kind})` },
    { name: 'Account', value: <AccountLink of={order} /> },
    { name: 'Price', value: money(price) },
    { name: 'Paid, with taxes', value: amount === null ? 'nothing' : money(amount) },
    ...(refunded > 0 ? [{ name: 'Refunded', value: money(refunded) }] : []),
    { name: 'Credits', value: <Credits value={order.credits} /> },
    { name: 'Credits booked', value: <Credits value={order.booked} /> },
    { name: 'Created', value: <DateTime at={order.created_at} /> },
    { name: 'Settled', value: order.settled_at ? <DateTime at={order.settled_at} /> : 'not yet' },
    ...(order.failure ? [{ name: 'Failure', value: order.failure }] : []),
    { name: 'At Stripe', value: order.stripe_id ?? 'not opened', mono: true },
    ...(receipt ? [{ name: 'Receipt', value: <Link href={receipt}>Receipt</Link> }] : []),
  ];
  return (
    <>
      <Card title="Order">
        <Facts facts={facts} />
      </Card>
      {order.movements.length > 0 && (
        <Card title="Credits">
          <Table
            caption="Movements of its credits"
            rows={order.movements}
            keyOf={({ reference }) => reference}
            columns={[
              { title: 'Reference', kind: 'mono', cell: ({ reference }) => reference },
              {
                title: 'Credits',
                kind: 'number',
                cell: ({ credits }) => <Credits value={credits} signed />,
              },
            ]}
          />
        </Card>
      )}
    </>
  );
}

const TONES: Record<string, 'good' | 'busy' | 'bad'> = {
  paid: 'good',
  pending: 'busy',
  mismatched: 'bad',
  failed: 'bad',
};

export function OrderState({
  order,
}: {
  order: Pick<OperatorOrder, 'state' | 'dispute' | 'mode'>;
}) {
  const { state, dispute, mode } = order;
  return (
    <div>
      <Badge tone={TONES[state] ?? 'neutral'}>{state}</Badge>
      {mode === 'test' && <span class="block text-sm text-dim">test mode</span>}
      {dispute && <span class="block text-sm text-bad">dispute: {dispute}</span>}
    </div>
  );
}
