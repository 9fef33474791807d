import type { PasskeyItem } from '../../../../server/src/site/account/passkeys.ts';
import { api } from '../../api.ts';
import { useDraft } from '../../draft.ts';
import { Field } from '../../ui/form/field.tsx';
import { DraftDialog } from '../../ui/form/form-dialog.tsx';

const MAX_NAME = 60;

interface NameProps {
  /** Names what is entered. */
  of: string;
  title: string;
  hint: string;
  action: string;
  initial: string;
  onClose: () => void;
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

interface AddProps {
  onClose: () => void;
  onAdded: () => Promise<void>;
}

/** The dialog that adds a passkey. */
export function AddPasskey({ onClose, onAdded }: AddProps) {
  return (
    <NameDialog
      of="passkey"
      title="Add a passkey"
      hint="To recognize it, such as “laptop”. Then your browser asks where to save the passkey."
      action="Continue"
      initial=""
      onClose={onClose}
      onName={add}
      onNamed={onAdded}
    />
  );
}

interface RenameProps {
  passkey: PasskeyItem;
  onClose: () => void;
  onRenamed: () => Promise<void>;
}

/** The dialog that renames a passkey. */
export function RenamePasskey({ passkey: { id, name }, onClose, onRenamed }: RenameProps) {
  return (
    <NameDialog
      of={`passkey ${id}`}
      title="Rename the passkey"
      hint="To recognize it, such as “laptop”."
      action="Save"
      initial={name}
      onClose={onClose}
      onName={(given) =>
        api('PATCH /console/api/passkeys/:id', { params: { id }, body: { name: given } })
      }
      onNamed={onRenamed}
    />
  );
}
