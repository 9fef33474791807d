import type { SubscriptionShown } from '../../../../server/src/site/billing/subscription.ts';
import { api } from '../../api.ts';
import { Badge, type Tone } from '../../ui/badge.tsx';
import { Card } from '../../ui/card.tsx';
import { SendButton } from '../../ui/form/send-button.tsx';
import { leaveFor } from '../../ui/form/sending.ts';
import { DateTime } from '../../ui/format.tsx';

/** Whether a subscription brings no credits any more, or does not yet. */
export function isOver({ state }: SubscriptionShown): boolean {
  return ['opening', 'canceled', 'incomplete_expired', 'expired'].includes(state);
}

const STATES: Record<string, { tone: Tone; word: string }> = {
  active: { tone: 'good', word: 'Active' },
  trialing: { tone: 'good', word: 'On trial' },
  past_due: { tone: 'bad', word: 'Payment failed' },
  unpaid: { tone: 'bad', word: 'Not paid' },
  incomplete: { tone: 'busy', word: 'Waiting for payment' },
  opening: { tone: 'busy', word: 'Waiting for payment' },
  paused: { tone: 'neutral', word: 'Paused' },
};

/** The plan of the account, what comes next, and what to do about a failed payment. */
export function SubscriptionCard({ subscription }: { subscription: SubscriptionShown }) {
  const { plan_name: name, state, ends_at: endsAt, renews_at: renewsAt } = subscription;
  if (isOver(subscription)) return null;
  const { tone, word } = STATES[state] ?? { tone: 'neutral' as const, word: state };
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

/** Opens the page of Stripe where cards, invoices and the plan are managed. */
export function PortalButton({ label }: { label: string }) {
  const open = async () => leaveFor((await api('POST /console/api/portal')).url);
  return (
    <div>
      <SendButton icon="external" onSend={open}>
        {label}
      </SendButton>
    </div>
  );
}
