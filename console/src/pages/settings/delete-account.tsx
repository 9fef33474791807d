import { useState } from 'preact/hooks';
import type { Me } from '../../../../server/src/site/account/me.ts';
import { api } from '../../api.ts';
import { useLoad } from '../../load.ts';
import { forgetPerson } from '../../personal.ts';
import { Button } from '../../ui/button.tsx';
import { Card } from '../../ui/card.tsx';
import { openDialog } from '../../ui/dialog.tsx';
import { Field } from '../../ui/form/field.tsx';
import { FormDialog } from '../../ui/form/form-dialog.tsx';
import { leaveFor } from '../../ui/form/sending.tsx';
import { Credits, formatNumber } from '../../ui/format.tsx';

/** Closes the account after its address was typed. It is erased after a grace period. */
export function DeleteAccount({ me }: { me: Me }) {
  return (
    <Card
      title="Delete the account"
      note="It stops working at once. For seven days you can sign in to keep it. Then its videos, prompts and address are erased, and its credits are lost. The records of credits stay, without your address."
    >
      <Button look="danger" onClick={() => openDialog(<DeleteForm me={me} />)}>
        Delete the account
      </Button>
    </Card>
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
      <li>You are signed out everywhere, and your API keys stop working.</li>
      <li>Nothing more is bought. A plan is not renewed; one with an unpaid invoice ends.</li>
      <li>Videos that are being made are finished and charged.</li>
      <li>
        Sign in within seven days to keep all of it. After that it is erased, and can’t be brought
        back.
      </li>
    </ul>
  );
}

function DeleteForm({ me: { email } }: { me: Me }) {
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
