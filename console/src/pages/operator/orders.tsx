import { useLocation } from 'preact-iso';
import type { About } from '../../../../server/src/site/about.ts';
import { useList, useLoad } from '../../load.ts';
import type { Item, Result } from '../../site-api.ts';
import { Badge } from '../../ui/badge.tsx';
import { Link } from '../../ui/button.tsx';
import { Card, Facts } from '../../ui/card.tsx';
import { Segments } from '../../ui/form/controls.tsx';
import { Credits, DateTime, Money, RelativeTime } from '../../ui/format.tsx';
import { Empty } from '../../ui/states.tsx';
import { Cell, type Column, column, mono, numbers, TableCard } from '../../ui/table.tsx';
import { ACCOUNT, AccountLink, AskButton, Id, ListPage, RecordPage } from './frame.tsx';
import type { Change } from './verb-dialog.tsx';

type OrderRow = Item<'GET /console/api/operator/verbs/orders/list'>;
type Order = Result<'GET /console/api/operator/verbs/orders/show'>;

/** Customers' orders; `?account=`, `?state=` and `?disputed=yes` filter them. */
export function OrdersPage() {
  const { query: asked, route } = useLocation();
  const { account = '', state = '', disputed = '' } = asked;
  const query = account ? { account } : { state, disputed };
  return (
    <ListPage
      title="Orders"
      lead={`${account ? `Orders of ${account}.` : 'What customers bought.'} ${modeOf(useLoad('/console/api/site').data)}`}
      actions={<AskButton change={FIND}>Find a payment</AskButton>}
      list={useList('/console/api/operator/verbs/orders/list', { query })}
      empty={<Empty title={disputed || state ? 'No such order' : 'No orders yet'} />}
      columns={COLUMNS}
      keyOf={(order) => order.order_id}
    >
      {!account && (
        <Segments
          label="Show"
          choices={VIEWS}
          value={disputed ? 'disputed=yes' : state && `state=${state}`}
          onChange={(view) => route(`/operator/orders${view && `?${view}`}`)}
        />
      )}
    </ListPage>
  );
}

const VIEWS = { '': 'All', 'state=mismatched': 'Mismatched', 'disputed=yes': 'Disputed' };

function modeOf(site: Pick<About, 'billing' | 'is_test'> | undefined): string {
  if (!site?.billing) return '';
  return site.is_test ? 'Stripe is in test mode: no money moves.' : 'Stripe is in live mode.';
}

const FIND: Change = {
  verb: 'orders settle',
  effect:
    'A worker asks Stripe which order this invoice or payment belongs to, and settles it. A paid ' +
    'invoice of a subscription gets its order.',
};

const COLUMNS: Column<OrderRow>[] = [
  column('Order', ({ order_id: id, offer }) => (
    <Cell below={<Id href={`/operator/orders/${id}`} id={id} />}>{offer} </Cell>
  )),
  column('Time', (order) => <RelativeTime at={order.created_at} />),
  column('State', (order) => <OrderState order={order} />),
  numbers('Price', ({ price, refunded, currency }) => (
    <Cell
      below={
        refunded > 0 && ['refunded ', <Money key="money" minor={refunded} currency={currency} />]
      }
    >
      <Money minor={price} currency={currency} />
    </Cell>
  )),
  numbers('Credits booked', ({ booked, credits }) => (
    <div>
      <Credits value={booked} /> <span class="text-sm text-dim">of</span>{' '}
      <Credits value={credits} />
    </div>
  )),
  ACCOUNT,
  column('', ({ order_id: id }) => (
    <AskButton small item={id} change={settleOf(id)}>
      Settle
    </AskButton>
  )),
];

function settleOf(id: string): Change {
  return { verb: 'orders settle', given: { id } };
}

export function OrderPage({ id }: { id: string }) {
  const loaded = useLoad('/console/api/operator/verbs/orders/show', { query: { id } });
  const settle = () => <AskButton change={settleOf(id)}>Settle</AskButton>;
  return (
    <RecordPage what="Order" id={id} loaded={loaded} buttons={settle}>
      {(order) => <Details order={order} />}
    </RecordPage>
  );
}

function Details({ order }: { order: Order }) {
  const { price, amount, currency, refunded, receipt_url: receipt } = order;
  const money = (minor: number) => <Money minor={minor} currency={currency} />;
  const facts = [
    { name: 'State', value: <OrderState order={order} /> },
    { name: 'Sold', value: `${order.offer} (${order.kind})` },
    { name: 'Account', value: <AccountLink row={order} /> },
    { name: 'Price', value: money(price) },
    { name: 'Paid, with taxes', value: amount === null ? 'nothing' : money(amount) },
    { name: 'Refunded', value: refunded > 0 ? money(refunded) : null },
    { name: 'Credits', value: <Credits value={order.credits} /> },
    { name: 'Credits booked', value: <Credits value={order.booked} /> },
    { name: 'Created', value: <DateTime at={order.created_at} /> },
    { name: 'Paid at', value: order.paid_at ? <DateTime at={order.paid_at} /> : 'not paid' },
    { name: 'Last asked Stripe', value: order.settled_at && <DateTime at={order.settled_at} /> },
    { name: 'Failure', value: order.failure },
    { name: 'At Stripe', value: order.stripe_id ?? 'not opened', mono: true },
    { name: 'Payment', value: order.stripe_payment, mono: true },
    { name: 'Receipt', value: receipt && <Link href={receipt}>Receipt</Link> },
  ];
  return (
    <>
      <Card title="Order">
        <Facts facts={facts} />
      </Card>
      <TableCard
        title="Credits"
        caption="Movements of its credits"
        rows={order.movements}
        columns={MOVEMENTS}
      />
    </>
  );
}

const MOVEMENTS: Column<Order['movements'][number]>[] = [
  mono('Reference', ({ reference }) => reference),
  numbers('Credits', ({ credits }) => <Credits value={credits} signed />),
];

const TONES: Record<string, 'good' | 'busy' | 'bad'> = {
  paid: 'good',
  pending: 'busy',
  mismatched: 'bad',
  failed: 'bad',
};

function OrderState({ order }: { order: Pick<OrderRow, 'state' | 'dispute' | 'mode'> }) {
  const { state, dispute, mode } = order;
  return (
    <div>
      <Badge tone={TONES[state] ?? 'neutral'}>{state}</Badge>
      {mode === 'test' && <span class="block text-sm text-dim">test mode</span>}
      {dispute && (
        <span class="block text-sm text-bad">dispute: {dispute.replaceAll('_', ' ')}</span>
      )}
    </div>
  );
}
