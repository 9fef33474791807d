import type { PasskeyItem } from '../../../../server/src/site/auth/passkeys.ts';
import { api } from '../../api.ts';
import { useDraft } from '../../draft.ts';
import { useLoad } from '../../load.ts';
import { Button } from '../../ui/button.tsx';
import { Card } from '../../ui/card.tsx';
import { openDialog } from '../../ui/dialog.tsx';
import { Field } from '../../ui/form/field.tsx';
import { confirm, DraftDialog } from '../../ui/form/form-dialog.tsx';
import { RelativeTime } from '../../ui/format.tsx';
import { type Column, column, ListTable, prose, RowButtons } from '../../ui/table.tsx';
import { toast } from '../../ui/toast.tsx';

/** The account's passkeys, with a button to add one if this browser supports passkeys. */
export function Passkeys() {
  const about = useLoad('/console/api/site');
  const list = useLoad('/console/api/passkeys');
  const isOffered = about.data?.sign_in.passkeys === true && 'PublicKeyCredential' in window;
  const onChanged = async (message: string) => {
    toast(message);
    await list.reload();
  };
  const actions = isOffered && (
    <Button icon="plus" onClick={() => openDialog(<NamePasskey onChanged={onChanged} />)}>
      Add a passkey
    </Button>
  );
  return (
    <Card
      title="Passkeys"
      note="Sign in with the fingerprint, face or PIN of your device instead of a code."
      actions={actions}
    >
      <ListTable
        list={{ ...list, items: list.data?.items }}
        lines={2}
        empty={<p class="text-dim">{about.data && !isOffered ? NOT_OFFERED : 'None yet.'}</p>}
        caption="Passkeys"
        columns={columnsWith(onChanged)}
      />
    </Card>
  );
}

type Changed = (message: string) => Promise<void>;

function askToRemove({ id, name }: PasskeyItem, onChanged: Changed): void {
  confirm({
    title: `Remove “${name}”?`,
    action: 'Remove the passkey',
    text: 'It can no longer be used to sign in. You can still sign in with a code sent by e-mail.',
    async request() {
      await api('DELETE /console/api/passkeys/:id', { params: { id } });
      await onChanged('The passkey is removed. Delete it on your device, too.');
    },
  });
}

const NOT_OFFERED =
  'Passkeys need a browser that supports them, and an address with a host name, not with an IP address.';

function columnsWith(onChanged: Changed): Column<PasskeyItem>[] {
  return [
    prose('Passkey', ({ name }) => <span class="font-medium">{name}</span>),
    column('Added', ({ created_at }) => <RelativeTime at={created_at} />),
    column('Last used', ({ used_at }) => <RelativeTime at={used_at} otherwise="not yet" />),
    column('', (passkey) => (
      <RowButtons
        row={passkey.name}
        on={{
          Rename: () => openDialog(<NamePasskey passkey={passkey} onChanged={onChanged} />),
          Remove: () => askToRemove(passkey, onChanged),
        }}
      />
    )),
  ];
}

const MAX_NAME = 60;

function refusalOf(error: Error): Error {
  if (error.name === 'NotAllowedError') return new Error('No passkey was made.');
  if (error.name !== 'InvalidStateError') return error;
  return new Error('This device has a passkey for this account.');
}

/** Creates a passkey on this device. The WebAuthn library is loaded on first use. */
async function add(name: string): Promise<void> {
  const { startRegistration } = await import('@simplewebauthn/browser');
  const optionsJSON = await api('POST /auth/passkeys/options');
  const response = await startRegistration({ optionsJSON }).catch((error: Error) => {
    throw refusalOf(error);
  });
  await api('POST /auth/passkeys', { body: { name, response } });
}

const HINT = 'To recognize it, such as “laptop”.';

function NamePasskey({ passkey, onChanged }: { passkey?: PasskeyItem; onChanged: Changed }) {
  const draft = useDraft(passkey ? `passkey ${passkey.id}` : 'passkey', () => ({
    name: passkey?.name ?? '',
  }));
  const send = () => {
    const name = draft.value.name.trim();
    if (!passkey) return add(name);
    return api('PATCH /console/api/passkeys/:id', { params: { id: passkey.id }, body: { name } });
  };
  return (
    <DraftDialog<{ name: string }, unknown>
      title={passkey ? 'Rename the passkey' : 'Add a passkey'}
      action={passkey ? 'Save' : 'Continue'}
      draft={draft}
      onSend={send}
      onSent={() => onChanged(passkey ? 'The passkey is renamed.' : 'The passkey is added.')}
    >
      {(field) => (
        <Field
          label="Name"
          hint={passkey ? HINT : `${HINT} Then your browser asks where to save the passkey.`}
          {...field('name')}
          required
          maxLength={MAX_NAME}
        />
      )}
    </DraftDialog>
  );
}
