import type { PasskeyItem } from '../../../../server/src/site/account/passkeys.ts';
import { api } from '../../api.ts';
import { useDraft } from '../../draft.ts';
import { asFailure } from '../../load.ts';
import { Field } from '../../ui/form/field.tsx';
import { FormDialog } from '../../ui/form/form-dialog.tsx';

const MAX_NAME = 60;

/** A dialog that asks for the name of a passkey. */
function NameDialog({
  of,
  title,
  hint,
  action,
  initial,
  onClose,
  onName,
}: {
  /** Names what is entered. */
  of: string;
  title: string;
  hint: string;
  action: string;
  initial: string;
  onClose: () => void;
  onName: (name: string) => Promise<void>;
}) {
  const { value, set, drop } = useDraft(of, () => ({ name: initial }));
  const { name } = value;
  const close = () => {
    drop();
    onClose();
  };
  const send = async () => {
    await onName(name.trim()).catch((error) => {
      throw new Error(messageOf(error));
    });
    close();
  };
  return (
    <FormDialog title={title} action={action} onClose={close} onSend={send} isBeside={() => true}>
      {(failure) => (
        <Field
          label="Name"
          hint={hint}
          value={name}
          onInput={(event) => set({ name: event.currentTarget.value })}
          error={failure?.message}
          required
          maxLength={MAX_NAME}
          autoComplete="off"
        />
      )}
    </FormDialog>
  );
}

/** What went wrong, also in the browser itself. */
function messageOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (error.name === 'NotAllowedError') return 'No passkey was made.';
  if (error.name === 'InvalidStateError') return 'This device has a passkey for this account.';
  return asFailure(error).message;
}

/** Makes a passkey on this device. The browser's part of the library is loaded when it is used. */
async function add(name: string): Promise<void> {
  const { startRegistration } = await import('@simplewebauthn/browser');
  const optionsJSON = await api('POST /auth/passkeys/options');
  const response = await startRegistration({ optionsJSON });
  await api('POST /auth/passkeys', { body: { name, response } });
}

/** The dialog that adds a passkey. */
export function AddPasskey({
  onClose,
  onAdded,
}: {
  onClose: () => void;
  onAdded: () => Promise<void>;
}) {
  return (
    <NameDialog
      of="passkey"
      title="Add a passkey"
      hint="To recognize it, such as “laptop”. Then your browser asks where to save the passkey."
      action="Continue"
      initial=""
      onClose={onClose}
      onName={(name) => add(name).then(onAdded)}
    />
  );
}

/** The dialog that renames a passkey. */
export function RenamePasskey({
  passkey,
  onClose,
  onRenamed,
}: {
  passkey: PasskeyItem;
  onClose: () => void;
  onRenamed: () => Promise<void>;
}) {
  const rename = async (name: string) => {
    const { id } = passkey;
    await api('PATCH /console/api/passkeys/:id', { params: { id }, body: { name } });
    await onRenamed();
  };
  return (
    <NameDialog
      of={`passkey ${passkey.id}`}
      title="Rename the passkey"
      hint="To recognize it, such as “laptop”."
      action="Save"
      initial={passkey.name}
      onClose={onClose}
      onName={rename}
    />
  );
}
