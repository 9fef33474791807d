import { useState } from 'preact/hooks';
import { useLocation } from 'preact-iso';
import type { About } from '../../../../server/src/site/about.ts';
import { useDraft } from '../../draft.ts';
import { useList } from '../../load.ts';
import type { OperatorOrder } from '../../operator-shapes.ts';
import { useSiteInfo } from '../../site-info.ts';
import { Button } from '../../ui/button.tsx';
import { Card } from '../../ui/card.tsx';
import { Switch } from '../../ui/form/controls.tsx';
import { Field } from '../../ui/form/field.tsx';
import { Credits, Money, RelativeTime } from '../../ui/format.tsx';
import { Empty, Load } from '../../ui/states.tsx';
import { type Column, More, Table } from '../../ui/table.tsx';
import { ChangeDialog } from '../operator/change-dialog.tsx';
import { AccountLink, Id, OperatorPage } from '../operator/frame.tsx';
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
      <Load from={{ ...list, data: list.items }}>
        {(orders) =>
          orders.length === 0 ? (
            <Empty title={disputed ? 'No order is disputed' : 'No orders yet'} />
          ) : (
            <Card>
              <Table
                caption="Orders"
                columns={columns}
                rows={orders}
                keyOf={(order) => order.order_id}
              />
              <More list={list} />
            </Card>
          )
        }
      </Load>
      {settling && (
        <ChangeDialog
          change={settleOf(settling.order_id)}
          onClose={() => setSettling(undefined)}
          onDone={() => void list.reload()}
        />
      )}
      {isFinding && (
        <FindDialog onClose={() => setFinding(false)} onDone={() => void list.reload()} />
      )}
    </OperatorPage>
  );
}

function modeOf(site: Pick<About, 'billing' | 'is_test'> | undefined): string {
  if (!site?.billing) return '';
  return site.is_test ? 'Stripe is in test mode: no money moves.' : 'Stripe is in live mode.';
}

/** Looks for the order of a payment that no order knows. */
function FindDialog({ onClose, onDone }: { onClose: () => void; onDone: () => void }) {
  const { value, set, drop } = useDraft('payment', () => ({ id: '' }));
  const { id } = value;
  return (
    <ChangeDialog
      onDone={onDone}
      onClose={() => {
        drop();
        onClose();
      }}
      change={{
        ...settleOf(encodeURIComponent(id.trim())),
        title: 'Find a payment',
        action: 'Find it',
        explanation:
          'A worker asks Stripe which order this invoice or payment belongs to, and settles it. ' +
          'A paid invoice of a subscription gets its order.',
      }}
      fields={
        <Field
          label="Invoice or payment at Stripe"
          hint="in_… or pi_…, from Stripe's dashboard."
          value={id}
          onInput={(event) => set({ id: event.currentTarget.value })}
          required
          pattern="\s*(in|pi)_[0-9A-Za-z_]{1,100}\s*"
          maxLength={110}
          autoComplete="off"
        />
      }
    />
  );
}

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
