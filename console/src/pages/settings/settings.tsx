import { useMe } from '../../session.tsx';
import { useTheme } from '../../shell/theme.tsx';
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

export default function SettingsPage() {
  const me = useMe();
  const [theme, , choose] = useTheme();
  return (
    <Page title="Settings">
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
      <DeleteAccount email={me.email} />
    </Page>
  );
}
