import { useState } from 'preact/hooks';
import { useLocation } from 'preact-iso';
import type { About } from '../../../../server/src/site/about.ts';
import { useList } from '../../load.ts';
import type { OperatorOrder } from '../../operator-shapes.ts';
import { useSiteInfo } from '../../site-info.ts';
import { Switch } from '../../ui/form/controls.tsx';
import { Credits, Money, RelativeTime } from '../../ui/format.tsx';
import { Empty } from '../../ui/states.tsx';
import { Cell, type Column } from '../../ui/table.tsx';
import { AskButton, Id } from '../operator/frame.tsx';
import { ACCOUNT, ListPage } from '../operator/list-page.tsx';
import type { Change } from '../operator-verbs/verb-dialog.tsx';
import { OrderState, settleOf } from './order.tsx';

/** What customers bought; `?account=` shows one account's. */
export function OrdersPage() {
  const { account = '' } = useLocation().query;
  const [disputed, setDisputed] = useState(false);
  const query = { account, disputed: disputed && !account ? 'yes' : '' };
  return (
    <ListPage
      title="Orders"
      lead={`${account ? `Of ${account}.` : 'What customers bought.'} ${modeOf(useSiteInfo().data)}`}
      actions={<AskButton change={FIND}>Find a payment</AskButton>}
      list={useList('/console/api/operator/orders', { query })}
      empty={<Empty title={disputed ? 'No order is disputed' : 'No orders yet'} />}
      caption="Orders"
      columns={COLUMNS}
      keyOf={(order) => order.order_id}
    >
      {!account && <Switch label="Only disputes" checked={disputed} onChange={setDisputed} />}
    </ListPage>
  );
}

function modeOf(site: Pick<About, 'billing' | 'is_test'> | undefined): string {
  if (!site?.billing) return '';
  return site.is_test ? 'Stripe is in test mode: no money moves.' : 'Stripe is in live mode.';
}

/** Looks for the order of a payment that no order knows. */
const FIND: Change = {
  verb: 'orders settle',
  effect:
    'A worker asks Stripe which order this invoice or payment belongs to, and settles it. A paid ' +
    'invoice of a subscription gets its order.',
};

const COLUMNS: Column<OperatorOrder>[] = [
  {
    title: 'Order',
    cell: ({ order_id: id, offer }) => (
      <Cell below={<Id href={`/operator/orders/${id}`} id={id} />}>{offer} </Cell>
    ),
  },
  { title: 'Time', cell: (order) => <RelativeTime at={order.created_at} /> },
  { title: 'State', cell: (order) => <OrderState order={order} /> },
  {
    title: 'Price',
    kind: 'number',
    cell: ({ price, refunded, currency }) => (
      <Cell below={refunded > 0 && <Refunded minor={refunded} currency={currency} />}>
        <Money minor={price} currency={currency} />
      </Cell>
    ),
  },
  {
    title: 'Credits booked',
    kind: 'number',
    cell: ({ booked, credits }) => (
      <div>
        <Credits value={booked} /> <span class="text-sm text-dim">of</span>{' '}
        <Credits value={credits} />
      </div>
    ),
  },
  ACCOUNT,
  {
    title: '',
    cell: ({ order_id: id }) => (
      <AskButton small of={id} change={settleOf(id)}>
        Settle
      </AskButton>
    ),
  },
];

function Refunded(money: { minor: number; currency: string }) {
  return (
    <>
      refunded <Money {...money} />
    </>
  );
}
