import type { Me } from '../../../../server/src/site/account/me.ts';
import { useSession } from '../../session.tsx';
import { LeaveTestMode } from '../../shell/test-mode.tsx';
import { Card, Figure } from '../../ui/card.tsx';
import { Credits } from '../../ui/format.tsx';
import { Page } from '../../ui/page.tsx';
import { ReturnNotice } from './return-notice.tsx';
import { Statement } from './statement.tsx';

/** The page of credits in test mode. What has to do with money is on the other side only. */
export function TestCredits({ credits }: { credits: Extract<Me, { mode: 'test' }>['credits'] }) {
  const { refresh } = useSession();
  const { test, reserved } = credits;
  return (
    <Page
      title="Test credits"
      lead="What test keys and this website in test mode spend. They are worth nothing."
    >
      <ReturnNotice onSettled={refresh} />
      <section aria-label="Balance" class="grid gap-6 sm:grid-cols-2 lg:grid-cols-4">
        <Figure name="Test" note="A refill sets them back to 100 000.">
          <Credits value={test} />
        </Figure>
        <Figure name="Reserved" note="For test videos that are being made.">
          <Credits value={reserved} />
        </Figure>
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
