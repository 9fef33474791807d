import { useLocation } from 'preact-iso';
import { useMe } from '../../session.tsx';
import { useTheme } from '../../shell/theme.tsx';
import { Link } from '../../ui/button.tsx';
import { Card, Facts } from '../../ui/card.tsx';
import { Segments } from '../../ui/form/controls.tsx';
import { DateTime } from '../../ui/format.tsx';
import { Page } from '../../ui/page.tsx';
import { DeleteAccount } from './delete-account.tsx';
import { Passkeys } from './passkeys.tsx';
import { Sessions } from './sessions.tsx';

const THEMES = [
  { value: 'system', label: 'Same as the system' },
  { value: 'light', label: 'Light' },
  { value: 'dark', label: 'Dark' },
] as const;

/** After signing in to a closed account: what is unchanged, and what is not. */
function Reopened() {
  return (
    <div role="status" class="border-l-4 border-good pl-4">
      <p class="font-medium">Your account is open again, and will not be deleted.</p>
      <p class="mt-1 max-w-[42rem] text-dim">
        Your credits, videos, API keys and passkeys are as you left them. You were signed out
        everywhere, payment pages that were open are closed, and auto-reload stopped if it was
        buying at that time. Your plan continues, unless its period was over or it was not paid:{' '}
        <Link href="/credits">see your credits</Link>.
      </p>
      <p class="mt-2 max-w-[42rem] text-dim">
        If it was not you who deleted the account, end the sessions and remove the passkeys below
        that you do not know, and <Link href="/keys">revoke API keys</Link> that you do not know.
      </p>
    </div>
  );
}

export default function SettingsPage() {
  const me = useMe();
  const { query } = useLocation();
  const [theme, , choose] = useTheme();
  return (
    <Page title="Settings">
      {query.reopened === 'yes' && <Reopened />}
      <Card title="Account">
        <Facts
          facts={[
            { name: 'E-mail address', value: me.email },
            { name: 'Created', value: <DateTime at={me.created_at} /> },
            { name: 'Account ID', value: me.account_id, mono: true },
          ]}
        />
        <div class="mt-6">
          <Segments
            label="Theme"
            value={theme}
            choices={[...THEMES]}
            onChange={(value) =>
              choose(THEMES.find((choice) => choice.value === value)?.value ?? 'system')
            }
          />
        </div>
      </Card>
      <Passkeys />
      <Sessions />
      <DeleteAccount me={me} />
    </Page>
  );
}
