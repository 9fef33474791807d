import { useLoad } from '../../load.ts';
import { useMe, useSession } from '../../session.tsx';
import { Page } from '../../ui/page.tsx';
import { Load } from '../../ui/states.tsx';
import { Balance, BlankBalance } from './balance.tsx';
import { BlankChoice, Choice } from './choice.tsx';
import { LowBalance } from './low-balance.tsx';
import { Orders } from './orders.tsx';
import { ReturnNotice } from './return-notice.tsx';
import { Statement } from './statement.tsx';
import { SubscriptionCard } from './subscription.tsx';
import { TestCredits } from './test-credits.tsx';

/** Balance, purchases, and every movement of credits. */
export default function CreditsPage() {
  const me = useMe();
  return me.mode === 'test' ? <TestCredits credits={me.credits} /> : <LiveCredits />;
}

function LiveCredits() {
  const { refresh } = useSession();
  const credits = useLoad('/console/api/credits');
  const offers = useLoad('/console/api/packs');
  const plan = useLoad('/console/api/subscription');
  const reload = async () => {
    await Promise.all([credits.reload(), plan.reload(), refresh()]);
  };
  const subscription = plan.data?.subscription ?? null;
  const sells = credits.data?.sells ?? false;
  return (
    <Page title="Credits" lead="What you have, what you can buy, and every change of your credits.">
      <ReturnNotice onSettled={reload} />
      <Load from={credits} skeleton={<BlankBalance />}>
        {(known) => <Balance credits={known} />}
      </Load>
      {subscription && <SubscriptionCard subscription={subscription} />}
      <Load from={offers} skeleton={<BlankChoice />}>
        {(known) => <Choice offers={known} subscription={subscription} />}
      </Load>
      {credits.data && (
        <LowBalance credits={credits.data} packs={offers.data?.packs ?? []} onChange={reload} />
      )}
      {sells && <Orders key={credits.data?.paid.available} hasPortal={credits.data?.has_portal} />}
      <Statement key={`${credits.data?.paid.available}-${credits.data?.promotional.available}`} />
    </Page>
  );
}
