import type { PasskeyItem } from '../../../../server/src/site/auth/passkeys.ts';
import { api } from '../../api.ts';
import { useDraft } from '../../draft.ts';
import { useLoad } from '../../load.ts';
import { Button } from '../../ui/button.tsx';
import { Card } from '../../ui/card.tsx';
import { openDialog } from '../../ui/dialog.tsx';
import { Field } from '../../ui/form/field.tsx';
import { Confirm, DraftDialog } from '../../ui/form/form-dialog.tsx';
import { RelativeTime } from '../../ui/format.tsx';
import { Load, Skeleton } from '../../ui/states.tsx';
import { type Column, column, RowButtons, Table } from '../../ui/table.tsx';
import { toast } from '../../ui/toast.tsx';

/** The passkeys of the account. They are offered only where browsers can make them. */
export function Passkeys() {
  const about = useLoad('/console/api/site');
  const list = useLoad('/console/api/passkeys');
  const isOffered = about.data?.sign_in.passkeys === true && 'PublicKeyCredential' in window;
  const onChanged = async (said: string) => {
    toast(said);
    await list.reload();
  };
  const actions = isOffered && (
    <Button icon="plus" onClick={() => openDialog(<AddPasskey onChanged={onChanged} />)}>
      Add a passkey
    </Button>
  );
  return (
    <Card
      title="Passkeys"
      note="Sign in with the fingerprint, face or PIN of your device instead of a code."
      actions={actions}
    >
      <Load from={list} skeleton={<Skeleton lines={2} />}>
        {({ items }) =>
          items.length > 0 ? (
            <Table
              caption="Passkeys"
              columns={columnsWith(onChanged)}
              rows={items}
              keyOf={(passkey) => passkey.id}
            />
          ) : (
            <p class="text-dim">{about.data && !isOffered ? <NotOffered /> : 'None yet.'}</p>
          )
        }
      </Load>
    </Card>
  );
}

/** Says what has changed, and reads the list again. */
type Changed = (said: string) => Promise<void>;

interface ChangeProps {
  passkey: PasskeyItem;
  onChanged: Changed;
}

function RemovePasskey({ passkey: { id, name }, onChanged }: ChangeProps) {
  const remove = async () => {
    await api('DELETE /console/api/passkeys/:id', { params: { id } });
    await onChanged('The passkey is removed. Delete it on your device, too.');
  };
  return (
    <Confirm title={`Remove “${name}”?`} action="Remove the passkey" onConfirm={remove}>
      It can no longer be used to sign in. You can still sign in with a code sent by e-mail.
    </Confirm>
  );
}

function NotOffered() {
  return (
    <>
      Passkeys need a browser that supports them, and an address with a host name, not with an IP
      address.
    </>
  );
}

function columnsWith(onChanged: Changed): Column<PasskeyItem>[] {
  return [
    column('Passkey', ({ name }) => <span class="font-medium">{name}</span>, 'prose'),
    column('Added', ({ created_at }) => <RelativeTime at={created_at} />),
    column('Last used', ({ used_at }) => <RelativeTime at={used_at} otherwise="not yet" />),
    column('', (passkey) => (
      <RowButtons
        of={passkey.name}
        on={{
          Rename: () => openDialog(<RenamePasskey passkey={passkey} onChanged={onChanged} />),
          Remove: () => openDialog(<RemovePasskey passkey={passkey} onChanged={onChanged} />),
        }}
      />
    )),
  ];
}

const MAX_NAME = 60;

interface NameProps {
  /** Names what is entered. */
  of: string;
  title: string;
  hint: string;
  action: string;
  initial: string;
  onName: (name: string) => Promise<unknown>;
  onNamed: () => Promise<void>;
}

/** A dialog that asks for the name of a passkey. */
function NameDialog({ of, hint, initial, onName, onNamed, ...dialog }: NameProps) {
  const draft = useDraft(of, () => ({ name: initial }));
  return (
    <DraftDialog
      {...dialog}
      draft={draft}
      onSend={() => onName(draft.value.name.trim())}
      onSent={onNamed}
    >
      {(field) => (
        <Field
          label="Name"
          hint={hint}
          {...field('name')}
          required
          maxLength={MAX_NAME}
          autoComplete="off"
        />
      )}
    </DraftDialog>
  );
}

/** What went wrong in the browser itself. */
function refusalOf(error: Error): Error {
  if (error.name === 'NotAllowedError') return new Error('No passkey was made.');
  if (error.name !== 'InvalidStateError') return error;
  return new Error('This device has a passkey for this account.');
}

/** Makes a passkey on this device. The browser's part of the library is loaded when it is used. */
async function add(name: string): Promise<void> {
  const { startRegistration } = await import('@simplewebauthn/browser');
  const optionsJSON = await api('POST /auth/passkeys/options');
  const response = await startRegistration({ optionsJSON }).catch((error: Error) => {
    throw refusalOf(error);
  });
  await api('POST /auth/passkeys', { body: { name, response } });
}

function AddPasskey({ onChanged }: { onChanged: Changed }) {
  return (
    <NameDialog
      of="passkey"
      title="Add a passkey"
      hint="To recognize it, such as “laptop”. Then your browser asks where to save the passkey."
      action="Continue"
      initial=""
      onName={add}
      onNamed={() => onChanged('The passkey is added.')}
    />
  );
}

function RenamePasskey({ passkey: { id, name: initial }, onChanged }: ChangeProps) {
  return (
    <NameDialog
      of={`passkey ${id}`}
      title="Rename the passkey"
      hint="To recognize it, such as “laptop”."
      action="Save"
      initial={initial}
      onName={(name) => api('PATCH /console/api/passkeys/:id', { params: { id }, body: { name } })}
      onNamed={() => onChanged('The passkey is renamed.')}
    />
  );
}
