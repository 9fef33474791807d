import { useEffect, useRef, useState } from 'preact/hooks';
import { useLocation } from 'preact-iso';
import { api } from '../../api.ts';
import { Badge, type Tone } from '../../ui/badge.tsx';
import { Credits } from '../../ui/format.tsx';

type Notice =
  | { kind: 'waiting' }
  | { kind: 'paid'; credits: number }
  | { kind: 'subscribed' }
  | { kind: 'managed' }
  | { kind: 'under-way' }
  | { kind: 'later' }
  | { kind: 'failed' }
  | { kind: 'canceled' };

const TRIES = 10;
const PAUSE_MS = 2200;

/** What became of the payment that the customer comes back from. */
export function ReturnNotice({ onSettled }: { onSettled: () => Promise<void> }) {
  const { query } = useLocation();
  const [notice, setNotice] = useState<Notice | undefined>(firstOf(query));
  const settled = useRef(onSettled);
  settled.current = onSettled;
  useEffect(() => {
    setNotice(firstOf(query));
    const ask = askerOf(query);
    if (!ask) return;
    let isGone = false;
    void (async () => {
      for (let attempt = 0; attempt < TRIES && !isGone; attempt += 1) {
        const found = await ask().catch(() => undefined);
        if (isGone) return;
        if (found) {
          setNotice(found);
          await settled.current();
          return;
        }
        await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
      }
      if (!isGone) setNotice({ kind: 'later' });
    })();
    return () => {
      isGone = true;
    };
  }, [query.order, query.subscribed, query.managed, query.canceled]);
  return notice && notice.kind !== 'managed' ? <Shown notice={notice} /> : null;
}

function firstOf(query: Record<string, string>): Notice | undefined {
  if (query.canceled) return { kind: 'canceled' };
  return query.order || query.subscribed ? { kind: 'waiting' } : undefined;
}

/** Asks what became of it; undefined: nothing yet. */
function askerOf(query: Record<string, string>): (() => Promise<Notice | undefined>) | undefined {
  const { order, subscribed, managed } = query;
  if (order) {
    return async () => {
      const named = { params: { id: order } };
      const { state, booked } = await api('POST /console/api/orders/:id/settle', named);
      if (state === 'pending' || state === 'mismatched') return undefined;
      if (state === 'under_way') return { kind: 'under-way' };
      const isFailed = state === 'failed' || state === 'expired';
      return isFailed ? { kind: 'failed' } : { kind: 'paid', credits: booked };
    };
  }
  if (!subscribed && !managed) return undefined;
  return async () => {
    const { subscription } = await api('POST /console/api/subscription/settle');
    if (managed) return { kind: 'managed' };
    return subscription?.state === 'active' ? { kind: 'subscribed' } : undefined;
  };
}

function Shown({ notice }: { notice: Exclude<Notice, { kind: 'managed' }> }) {
  const { badge, text } = WORDS[notice.kind];
  return (
    <div role="status" class="border border-line border-l-4 border-l-tungsten bg-sheet px-6 py-5">
      {badge && <Badge tone={badge[0]}>{badge[1]}</Badge>}
      {notice.kind === 'paid' && (
        <p class="mt-1">
          <Credits value={notice.credits} unit /> were added to your balance. Thank you.
        </p>
      )}
      {text && <p class={badge ? 'mt-1' : ''}>{text}</p>}
    </div>
  );
}

interface Words {
  badge?: [Tone, string];
  text?: string;
}

const WORDS: Record<Exclude<Notice['kind'], 'managed'>, Words> = {
  waiting: { badge: ['busy', 'Confirming your payment with Stripe'] },
  paid: { badge: ['good', 'Paid'] },
  subscribed: {
    badge: ['good', 'Your subscription is active'],
    text: 'The credits of the first period are in your balance.',
  },
  'under-way': {
    badge: ['busy', 'Payment under way'],
    text: 'The credits are added when your payment arrives. With some payment methods, such as a bank transfer, that takes a few days. You need not do anything.',
  },
  later: {
    text: 'Stripe has not confirmed the payment yet. Some payment methods take a few days: the credits are added when the payment arrives.',
  },
  failed: {
    badge: ['bad', 'The payment failed'],
    text: 'Nothing was charged, and no credits were added.',
  },
  canceled: { text: 'You left the payment page. Nothing was charged.' },
};
