import { useState } from 'preact/hooks';
import { formatMoney } from '../../../../server/src/kernel/currency.ts';
import type { OnSale } from '../../../../server/src/site/billing/credits.ts';
import type { SubscriptionShown } from '../../../../server/src/site/billing/subscription.ts';
import { api } from '../../api.ts';
import { SimulatedPayments } from '../../ui/badge.tsx';
import { Card } from '../../ui/card.tsx';
import { Segments, Switch } from '../../ui/form/controls.tsx';
import { leaveFor, SendButton } from '../../ui/form/sending.tsx';
import { Credits, expiryOf, formatNumber, Money, pricePerThousand } from '../../ui/format.tsx';
import { Empty } from '../../ui/states.tsx';
import { AskForCredits } from '../../ui/support.tsx';
import { isInactive } from './purchases.tsx';

type Pack = OnSale['packs'][number];
type Plan = OnSale['plans'][number];

const WAYS = { packs: 'Once', plans: 'By subscription' };

export function BuyCredits({
  offers: { packs, plans, is_test: isTest },
  subscription,
}: {
  offers: OnSale;
  subscription: SubscriptionShown | null;
}) {
  const [way, setWay] = useState(packs.length > 0 ? 'packs' : 'plans');
  const [keepsCard, setKeepsCard] = useState(false);
  if (packs.length + plans.length === 0) {
    return (
      <Empty title="No credits are sold here">
        <AskForCredits />
      </Empty>
    );
  }
  const isPlans = way === 'plans';
  const isSubscribed = isPlans && subscription !== null && !isInactive(subscription);
  const shown: Array<Pack | Plan> = isPlans ? plans : packs;
  const buy = ({ id }: Pack | Plan) =>
    isPlans
      ? api('POST /console/api/subscription', { body: { plan_id: id } })
      : api('POST /console/api/orders', { body: { pack_id: id, keep_card: keepsCard } });
  return (
    <Card
      title="Buy credits"
      note="You pay on a page of Stripe, the payment provider, and then return here."
    >
      {isTest && <SimulatedPayments />}
      {packs.length > 0 && plans.length > 0 && (
        <div class="mb-7">
          <Segments label="How do you want to pay?" value={way} choices={WAYS} onChange={setWay} />
        </div>
      )}
      {isSubscribed && (
        <p class="mb-6 max-w-[60ch] text-dim">
          You have a subscription. Change its plan under “Manage” above.
        </p>
      )}
      <ul class="grid gap-x-8 gap-y-9 sm:grid-cols-2 lg:grid-cols-3">
        {shown.map((offer) => (
          <Offer key={offer.id} offer={offer} among={shown} buy={isSubscribed ? undefined : buy} />
        ))}
      </ul>
      {!isPlans && (
        <div class="mt-8">
          <Switch
            label="Save this card"
            hint="Needed for auto-reload only. The card is saved at Stripe, not here."
            checked={keepsCard}
            onChange={setKeepsCard}
          />
        </div>
      )}
    </Card>
  );
}

interface OfferProps {
  offer: Pack | Plan;
  among: Array<Pack | Plan>;
  /** undefined: not for sale right now. */
  buy: ((offer: Pack | Plan) => Promise<{ url: string }>) | undefined;
}

function Offer(props: OfferProps) {
  const { offer, among } = props;
  const same = among.filter(({ currency }) => currency === offer.currency);
  const isBest =
    same.length > 1 &&
    same.every((other) => other === offer || pricePerThousand(other) > pricePerThousand(offer));
  const most = Math.max(...among.map(({ credits }) => credits));
  const { expires_days: days } = offer;
  return (
    <li class="grid content-start gap-4">
      <div class="flex items-baseline justify-between gap-4">
        <h3 class="font-semibold">{offer.name}</h3>
        {isBest && <span class="edge-print">lowest price per credit</span>}
      </div>
      <div>
        <p class="text-3xl leading-none font-medium">
          <Credits value={offer.credits} />
        </p>
        <p class="mt-1.5 text-dim">credits{'period' in offer && ` each ${offer.period}`}</p>
      </div>
      <div
        class="ruler"
        aria-hidden="true"
        style={{ width: `${Math.max(12, (100 * offer.credits) / most)}%` }}
      />
      <p class="text-dim">
        <Money minor={pricePerThousand(offer)} currency={offer.currency} />{' '}
        {`per ${formatNumber(1000)} credits. They ${days === null ? 'do not expire' : `expire ${expiryOf(days)}`}.`}
      </p>
      <div>
        <Buy {...props} isRecommended={isBest || same.length === 1} />
      </div>
    </li>
  );
}

function Buy({ offer, buy, isRecommended }: OfferProps & { isRecommended: boolean }) {
  if (!buy) return <Money minor={offer.price} currency={offer.currency} />;
  const period = 'period' in offer ? ` a ${offer.period}` : '';
  const words = `Buy for ${formatMoney(offer.price, offer.currency)}${period}`;
  return (
    <SendButton
      look={isRecommended ? 'primary' : 'plain'}
      aria-label={`${words}: ${offer.name}`}
      onSend={async () => leaveFor((await buy(offer)).url)}
    >
      {words}
    </SendButton>
  );
}
