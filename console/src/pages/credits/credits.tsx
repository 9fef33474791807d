import type { Me } from '../../../../server/src/site/account/me.ts';
import type { Credits as CreditsOf } from '../../../../server/src/site/billing/credits.ts';
import { useList, useLoad } from '../../load.ts';
import { useMe, useSession } from '../../session.tsx';
import { LeaveTestMode } from '../../shell/test-mode.tsx';
import { Card, Figure } from '../../ui/card.tsx';
import { Credits, DateTime } from '../../ui/format.tsx';
import { Page } from '../../ui/page.tsx';
import { Load } from '../../ui/states.tsx';
import { BuyCredits } from './buy-credits.tsx';
import { LowBalance } from './low-balance.tsx';
import { Orders, SubscriptionCard } from './purchases.tsx';
import { ReturnNotice } from './return-notice.tsx';
import { Statement } from './statement.tsx';

export default function CreditsPage() {
  const me = useMe();
  return me.mode === 'test' ? <TestCredits credits={me.credits} /> : <LiveCredits />;
}

function LiveCredits() {
  const { refresh } = useSession();
  const credits = useLoad('/console/api/credits');
  const offers = useLoad('/console/api/packs');
  const plan = useLoad('/console/api/subscription');
  const orders = useList('/console/api/orders');
  const reload = async () => {
    await Promise.all([credits.reload(), plan.reload(), orders.reload(), refresh()]);
  };
  const subscription = plan.data?.subscription ?? null;
  return (
    <Page title="Credits" lead="What you have, what you can buy, and every change of your credits.">
      <ReturnNotice onSettled={reload} />
      <Load from={credits} skeleton={BLANK_BALANCE}>
        {(known) => <Balance credits={known} />}
      </Load>
      {subscription && <SubscriptionCard subscription={subscription} />}
      <Load from={offers} skeleton={<div class="blank h-80" />}>
        {(known) => <BuyCredits offers={known} subscription={subscription} />}
      </Load>
      {credits.data && (
        <LowBalance credits={credits.data} packs={offers.data?.packs ?? []} onChange={reload} />
      )}
      {credits.data?.sells && <Orders list={orders} hasPortal={credits.data.has_portal} />}
      <Statement key={`${credits.data?.paid.available}-${credits.data?.promotional.available}`} />
    </Page>
  );
}

function TestCredits({ credits }: { credits: Extract<Me, { mode: 'test' }>['credits'] }) {
  const { refresh } = useSession();
  const { test, reserved } = credits;
  return (
    <Page
      title="Test credits"
      lead="What test keys and this website in test mode spend. They are worth nothing."
    >
      <ReturnNotice onSettled={refresh} />
      <section aria-label="Balance" class="grid gap-6 sm:grid-cols-2 lg:grid-cols-4">
        <Part name="Test" value={test} note="A refill sets them back to 100 000." />
        <Part name="Reserved" value={reserved} note="For test videos that are being made." />
      </section>
      <Card
        title="Purchases are always live"
        note="Packs, subscriptions, auto-reload and orders take and show real money. Leave test mode to see them."
        actions={<LeaveTestMode />}
      />
      <Statement key={test} />
    </Page>
  );
}

function Balance({ credits }: { credits: CreditsOf }) {
  const { paid, promotional, expiring } = credits;
  const reserved = paid.reserved + promotional.reserved;
  const owed = paid.owed + promotional.owed;
  return (
    <section aria-label="Balance" class="grid gap-6">
      <div class="grid gap-6 sm:grid-cols-2 lg:grid-cols-4">
        <Part name="Paid" value={paid.available} note="For the API and this website." />
        <Part
          name="Promotional"
          value={promotional.available}
          note="For this website only, and used first."
        />
        <Part
          name="Reserved"
          value={reserved}
          note="For videos that are being made. Refunded if one fails."
        />
        {owed > 0 && (
          <Part
            name="Owed"
            value={owed}
            note="Credits of a refunded or disputed payment that you had already used. Your next purchase pays them first."
          />
        )}
      </div>
      {expiring.length > 0 && <Expiring lots={expiring} />}
    </section>
  );
}

function Part({ name, value, note }: { name: string; value: number; note: string }) {
  return (
    <Figure name={name} note={note}>
      <Credits value={value} />
    </Figure>
  );
}

const SHOWN = 3;

function Expiring({ lots }: { lots: CreditsOf['expiring'] }) {
  const rest = lots.slice(SHOWN).reduce((sum, { credits }) => sum + credits, 0);
  return (
    <ul class="grid gap-1 text-dim">
      {lots.slice(0, SHOWN).map(({ kind, credits, expires_at }) => (
        <li key={`${kind}${expires_at}`}>
          <Credits value={credits} /> {kind} credits expire on <DateTime at={expires_at} />.
        </li>
      ))}
      {rest > 0 && (
        <li>
          <Credits value={rest} unit /> more expire later.
        </li>
      )}
    </ul>
  );
}

const BLANK_BALANCE = (
  <div class="grid gap-6 sm:grid-cols-2 lg:grid-cols-4">
    <div class="blank h-24" />
    <div class="blank h-24" />
    <div class="blank h-24" />
  </div>
);
