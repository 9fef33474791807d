import { useState } from 'preact/hooks';
import { useLocation } from 'preact-iso';
import { api } from '../../api.ts';
import { useLoad } from '../../load.ts';
import { forgetPerson } from '../../personal.ts';
import { useMe } from '../../session.tsx';
import { useTheme } from '../../shell/theme.tsx';
import { Button, Link } from '../../ui/button.tsx';
import { Card, Facts } from '../../ui/card.tsx';
import { openDialog } from '../../ui/dialog.tsx';
import { Segments } from '../../ui/form/controls.tsx';
import { Field } from '../../ui/form/field.tsx';
import { FormDialog } from '../../ui/form/form-dialog.tsx';
import { leaveFor } from '../../ui/form/sending.tsx';
import { Credits, DateTime, formatNumber } from '../../ui/format.tsx';
import { Page } from '../../ui/page.tsx';
import { Shares } from '../../ui/video-dialogs.tsx';
import { OwnData } from './data.tsx';
import { Passkeys } from './passkeys.tsx';
import { Sessions } from './sessions.tsx';

const THEMES = { system: 'Same as the system', light: 'Light', dark: 'Dark' };

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
            choices={THEMES}
            onChange={(value) => choose(value as keyof typeof THEMES)}
          />
        </div>
      </Card>
      {me.can_share && <Shares />}
      <Passkeys />
      <Sessions />
      <OwnData />
      <Card
        title="Delete the account"
        note="The account stops working at once. For seven days you can sign in to keep it. Then its videos, prompts and address are erased, and its credits are lost. The records of credits stay, without your address."
      >
        <Button look="danger" onClick={() => openDialog(<DeleteForm email={me.email} />)}>
          Delete the account
        </Button>
      </Card>
    </Page>
  );
}

function Consequences() {
  const { data } = useLoad('/console/api/me', { query: { mode: 'live' } });
  const credits = data?.mode === 'live' ? data.credits : undefined;
  const { paid = 0, promotional = 0, reserved = 0, owed = 0 } = credits ?? {};
  return (
    <ul class="grid list-disc gap-1.5 pl-5">
      {paid + promotional + reserved > 0 && (
        <li>
          You lose {formatNumber(paid)} paid and {formatNumber(promotional)} promotional credits
          {reserved > 0 && `, and ${formatNumber(reserved)} reserved ones that are refunded later`}.
        </li>
      )}
      {owed > 0 && (
        <li>
          You owe <Credits value={owed} unit />, which deletion does not settle.
        </li>
      )}
      <li>You are signed out everywhere, your API keys stop working, and your shares end.</li>
      <li>Nothing more is bought. A plan is not renewed; one with an unpaid invoice ends.</li>
      <li>Videos that are being made are finished and charged.</li>
      <li>
        Sign in within seven days to keep the rest. After that it is erased, and can’t be brought
        back.
      </li>
    </ul>
  );
}

/** Closes the account after its address was typed. It is erased after a grace period. */
function DeleteForm({ email }: { email: string }) {
  const [typed, setTyped] = useState('');
  const send = async () => {
    const { erase_at } = await api('POST /console/api/account/delete', { body: { email: typed } });
    forgetPerson();
    return leaveFor(`/sign-in?closed=${encodeURIComponent(erase_at)}`);
  };
  return (
    <FormDialog
      title="Delete the account?"
      action="Delete the account"
      isDangerous
      disabled={typed.trim().toLowerCase() !== email.toLowerCase()}
      onSend={send}
      isBeside={() => true}
    >
      {(failure) => (
        <>
          <Consequences />
          <p class="text-dim">
            To continue, type <span class="break-all text-ink">{email}</span>.
          </p>
          <Field
            label="E-mail address of the account"
            value={typed}
            onChange={setTyped}
            error={failure?.message}
            required
            autoComplete="off"
            spellcheck={false}
          />
        </>
      )}
    </FormDialog>
  );
}
