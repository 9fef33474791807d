import { useState } from 'preact/hooks';
import { useLocation } from 'preact-iso';
import type { About } from '../../../../server/src/site/about.ts';
import { useList } from '../../load.ts';
import type { OperatorOrder } from '../../operator-shapes.ts';
import { useSiteInfo } from '../../site-info.ts';
import { Button } from '../../ui/button.tsx';
import { Switch } from '../../ui/form/controls.tsx';
import { Credits, Money, RelativeTime } from '../../ui/format.tsx';
import { Empty } from '../../ui/states.tsx';
import { type Column, ListCard } from '../../ui/table.tsx';
import { AccountLink, Id, OperatorPage } from '../operator/frame.tsx';
import { type Change, VerbDialog } from '../operator/verb-dialog.tsx';
import { OrderState, settleOf } from './order.tsx';

/** What customers bought; `?account=` shows one account's. */
export function OrdersPage() {
  const { account = '' } = useLocation().query;
  const [disputed, setDisputed] = useState(false);
  const [settling, setSettling] = useState<OperatorOrder>();
  const [isFinding, setFinding] = useState(false);
  const query = { account, disputed: disputed && !account ? 'yes' : '' };
  const list = useList('/console/api/operator/orders', { query });
  const columns: Column<OperatorOrder>[] = [
    ...COLUMNS,
    {
      title: '',
      cell: (order) => (
        <Button small aria-label={`Settle ${order.order_id}`} onClick={() => setSettling(order)}>
          Settle
        </Button>
      ),
    },
  ];
  return (
    <OperatorPage
      title="Orders"
      lead={`${account ? `Of ${account}.` : 'What customers bought.'} ${modeOf(useSiteInfo().data)}`}
      actions={<Button onClick={() => setFinding(true)}>Find a payment</Button>}
    >
      {!account && <Switch label="Only disputes" checked={disputed} onChange={setDisputed} />}
      <ListCard
        list={list}
        empty={<Empty title={disputed ? 'No order is disputed' : 'No orders yet'} />}
        caption="Orders"
        columns={columns}
        keyOf={(order) => order.order_id}
      />
      {settling && (
        <VerbDialog
          change={settleOf(settling.order_id)}
          onClose={() => setSettling(undefined)}
          onDone={() => void list.reload()}
        />
      )}
      {isFinding && (
        <VerbDialog
          change={FIND}
          onClose={() => setFinding(false)}
          onDone={() => void list.reload()}
        />
      )}
    </OperatorPage>
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
      <div>
        {offer}{' '}
        <span class="block text-sm">
          <Id href={`/operator/orders/${id}`} id={id} />
        </span>
      </div>
    ),
  },
  { title: 'Time', cell: (order) => <RelativeTime at={order.created_at} /> },
  {
    title: 'State',
    cell: (order) => <OrderState order={order} />,
  },
  {
    title: 'Price',
    kind: 'number',
    cell: ({ price, refunded, currency }) => (
      <div>
        <Money minor={price} currency={currency} />
        {refunded > 0 && (
          <span class="block text-sm text-dim">
            refunded <Money minor={refunded} currency={currency} />
          </span>
        )}
      </div>
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
  {
    title: 'Account',
    kind: 'prose',
    cell: (order) => <AccountLink of={order} />,
  },
];
