import { useEffect, useRef, useState } from 'preact/hooks';
import { useLocation } from 'preact-iso';
import { api } from '../../api.ts';
import { Badge, type Tone } from '../../ui/badge.tsx';
import { Credits } from '../../ui/format.tsx';

type Outcome = keyof typeof WORDS;
/** The outcome of a payment; if paid, with the credits bought. */
type Notice = { outcome: Outcome; credits?: number };

const TRIES = 10;
const PAUSE_MS = 2200;

export function ReturnNotice({ onSettled }: { onSettled: () => Promise<void> }) {
  const { query } = useLocation();
  const [notice, setNotice] = useState<Notice | undefined>(initialNotice(query));
  const latest = useRef(onSettled);
  latest.current = onSettled;
  useEffect(() => {
    setNotice(initialNotice(query));
    const readOutcome = outcomeReader(query);
    if (!readOutcome) return;
    let isGone = false;
    void (async () => {
      for (let attempt = 0; attempt < TRIES && !isGone; attempt += 1) {
        const found = await readOutcome().catch(() => undefined);
        if (isGone) return;
        if (found) {
          setNotice(found === 'managed' ? undefined : found);
          await latest.current();
          return;
        }
        await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
      }
      if (!isGone) setNotice(query.managed ? undefined : { outcome: 'later' });
    })();
    return () => {
      isGone = true;
    };
  }, [query.order, query.subscribed, query.managed, query.canceled]);
  return notice ? <Shown {...notice} /> : null;
}

function initialNotice(query: Record<string, string>): Notice | undefined {
  if (query.canceled) return { outcome: 'canceled' };
  return query.order || query.subscribed ? { outcome: 'waiting' } : undefined;
}

/**
 * Returns a function that reads the outcome, which is undefined while there is none yet. `managed`:
 * the customer is back from Stripe's portal, which needs no notice.
 */
function outcomeReader(
  query: Record<string, string>,
): (() => Promise<Notice | 'managed' | undefined>) | undefined {
  const { order, subscribed, managed } = query;
  if (order) {
    return async () => {
      const named = { params: { id: order } };
      const { state, booked } = await api('POST /console/api/orders/:id/settle', named);
      if (state === 'pending') return undefined;
      if (state === 'under_way' || state === 'mismatched') return { outcome: state };
      const isFailed = state === 'failed' || state === 'expired';
      return isFailed ? { outcome: 'failed' } : { outcome: 'paid', credits: booked };
    };
  }
  if (!subscribed && !managed) return undefined;
  return async () => {
    const { subscription } = await api('POST /console/api/subscription/settle');
    if (managed) return 'managed';
    return subscription?.state === 'active' ? { outcome: 'subscribed' } : undefined;
  };
}

function Shown({ outcome, credits }: Notice) {
  const { tone, title, text }: Words = WORDS[outcome];
  return (
    <div role="status" class="border border-line border-l-4 border-l-tungsten bg-sheet px-6 py-5">
      {tone && <Badge tone={tone}>{title}</Badge>}
      {credits !== undefined && (
        <p class="mt-1">
          <Credits value={credits} unit /> were added to your balance. Thank you.
        </p>
      )}
      {text && <p class={title ? 'mt-1' : ''}>{text}</p>}
    </div>
  );
}

interface Words {
  tone?: Tone;
  title?: string;
  text?: string;
}

const WORDS = {
  waiting: { tone: 'busy', title: 'Confirming your payment with Stripe' },
  paid: { tone: 'good', title: 'Paid' },
  subscribed: {
    tone: 'good',
    title: 'Your subscription is active',
    text: 'The credits of the first period are in your balance.',
  },
  under_way: {
    tone: 'busy',
    title: 'Payment under way',
    text: 'The credits are added when your payment arrives. With some payment methods, such as a bank transfer, that takes a few days. You don’t need to do anything.',
  },
  mismatched: {
    tone: 'busy',
    title: 'Being checked',
    text: 'Your payment arrived, but its credits are not added yet: it does not match the order. The operator of this service decides. The order is in your purchases below.',
  },
  later: {
    text: 'Stripe has not confirmed the payment yet. Some payment methods take a few days: the credits are added when the payment arrives.',
  },
  failed: {
    tone: 'bad',
    title: 'The payment failed',
    text: 'Nothing was charged, and no credits were added.',
  },
  canceled: { text: 'You left the payment page. Nothing was charged.' },
} as const satisfies Record<string, Words>;
