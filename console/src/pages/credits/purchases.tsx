import type { OrderShown } from '../../../../server/src/site/billing/orders.ts';
import type { SubscriptionShown } from '../../../../server/src/site/billing/subscription.ts';
import { api } from '../../api.ts';
import type { LoadedList } from '../../load.ts';
import { Badge, type Tone } from '../../ui/badge.tsx';
import { Link } from '../../ui/button.tsx';
import { Card } from '../../ui/card.tsx';
import { leaveFor, SendButton } from '../../ui/form/sending.tsx';
import { Credits, DateTime, Money, RelativeTime } from '../../ui/format.tsx';
import { type Column, column, ListCard, numbers } from '../../ui/table.tsx';

/** Whether a subscription brings no credits yet, or no longer does. */
export function isInactive({ state }: SubscriptionShown): boolean {
  return ['opening', 'canceled', 'incomplete_expired', 'expired'].includes(state);
}

const SUBSCRIPTION_STATES: Record<string, { tone: Tone; word: string }> = {
  active: { tone: 'good', word: 'Active' },
  trialing: { tone: 'good', word: 'On trial' },
  past_due: { tone: 'bad', word: 'Payment failed' },
  unpaid: { tone: 'bad', word: 'Not paid' },
  incomplete: { tone: 'busy', word: 'Waiting for payment' },
  opening: { tone: 'busy', word: 'Waiting for payment' },
  paused: { tone: 'neutral', word: 'Paused' },
};

export function SubscriptionCard({ subscription }: { subscription: SubscriptionShown }) {
  const { plan_name: name, state, ends_at: endsAt, renews_at: renewsAt } = subscription;
  if (isInactive(subscription)) return null;
  const { tone, word } = SUBSCRIPTION_STATES[state] ?? { tone: 'neutral' as const, word: state };
  return (
    <Card title={`Subscription: ${name}`} actions={<PortalButton label="Manage" />}>
      <p class="flex flex-wrap items-center gap-x-5 gap-y-1">
        <Badge tone={endsAt ? 'neutral' : tone}>{endsAt ? 'Cancelled' : word}</Badge>
        <span class="text-dim">
          {endsAt && (
            <>
              It ends on <DateTime at={endsAt} />. You keep the credits that you have.
            </>
          )}
          {!endsAt && renewsAt && tone !== 'bad' && (
            <>
              The next credits come on <DateTime at={renewsAt} />.
            </>
          )}
        </span>
      </p>
      {tone === 'bad' && !endsAt && (
        <p role="alert" class="mt-4 max-w-[62ch] border-l-4 border-l-bad pl-4">
          The last payment failed, so no new credits were added. The credits that you have can still
          be used. Choose another card under “Manage”; the payment is then tried again.
        </p>
      )}
    </Card>
  );
}

function PortalButton({ label }: { label: string }) {
  const open = async () => leaveFor((await api('POST /console/api/portal')).url);
  return (
    <div>
      <SendButton icon="external" onSend={open}>
        {label}
      </SendButton>
    </div>
  );
}

const ORDER_STATES: Record<OrderShown['state'], { tone: Tone; word: string }> = {
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
  column('Time', ({ created_at: at }) => <RelativeTime at={at} />),
  column('Purchase', ({ name, kind }) => name + KINDS[kind]),
  column('Status', ({ state }) => (
    <Badge tone={ORDER_STATES[state].tone}>{ORDER_STATES[state].word}</Badge>
  )),
  numbers('Credits', ({ credits }) => <Credits value={credits} />),
  numbers('Price', ({ price, currency }) => <Money minor={price} currency={currency} />),
  column('Receipt', (order) => <ReceiptLink order={order} />),
];

function ReceiptLink({ order }: { order: OrderShown }) {
  if (order.checkout_url) return <Link href={order.checkout_url}>Pay</Link>;
  if (order.receipt_url) return <Link href={order.receipt_url}>Receipt</Link>;
  return <span class="text-dim">–</span>;
}

export function Orders({ list, hasPortal }: { list: LoadedList<OrderShown>; hasPortal: boolean }) {
  const actions = hasPortal && <PortalButton label="Cards and invoices" />;
  return (
    <ListCard
      list={list}
      empty={null}
      card={{ title: 'Purchases', actions }}
      caption="Purchases, the newest first"
      columns={COLUMNS}
    />
  );
}
