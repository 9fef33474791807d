import { useDraft } from '../../draft.ts';
import { Segments } from '../../ui/form/controls.tsx';
import { Field } from '../../ui/form/field.tsx';
import { ChangeDialog } from './change-dialog.tsx';

const KINDS = [
  { value: 'paid', label: 'Paid' },
  { value: 'promotional', label: 'Promotional' },
];

const WORDS = {
  grant: {
    title: 'Grant credits',
    explanation: 'If the account owes credits, these are paid first.',
    hint: 'A whole number above zero.',
    reasonHint: undefined,
  },
  adjust: {
    title: 'Adjust the credits',
    explanation: 'Corrects the balance up or down.',
    hint: 'A whole number; below zero takes credits back.',
    reasonHint: 'The customer sees this in their statement. It is recorded with your name.',
  },
};

/** A name that is booked once, however often the button is pressed. */
function newReference(): string {
  return `console-${crypto.randomUUID().slice(0, 8)}`;
}

function newMovement() {
  return { kind: 'paid', credits: '', reference: newReference(), expires: '' };
}

/** Grants credits, or corrects a balance. */
export function MovementDialog({
  kind: movement,
  path,
  onClose,
  onDone,
}: {
  kind: 'grant' | 'adjust';
  path: string;
  onClose: () => void;
  onDone: () => void;
}) {
  const { value, set, drop } = useDraft(`${movement} ${path}`, newMovement);
  const { kind, credits, reference, expires } = value;
  const { title, explanation, hint, reasonHint } = WORDS[movement];
  const isGrant = movement === 'grant';
  const body = {
    kind,
    credits: Number(credits),
    reference,
    ...(isGrant && expires && { expires_at: expires }),
  };
  return (
    <ChangeDialog
      change={{ title, explanation, reasonHint, path: `${path}/${movement}`, action: title }}
      body={body}
      onClose={() => {
        drop();
        onClose();
      }}
      onDone={onDone}
      fields={
        <>
          <Segments
            label="Kind"
            value={kind}
            choices={KINDS}
            onChange={(chosen) => set({ kind: chosen })}
          />
          <Field
            label="Credits"
            hint={hint}
            type="number"
            step={1}
            {...(isGrant && { min: 1 })}
            required
            value={credits}
            onInput={(event) => set({ credits: event.currentTarget.value })}
          />
          <Field
            label="Reference"
            hint="Such as the number of an invoice. The same reference is booked once."
            value={reference}
            onInput={(event) => set({ reference: event.currentTarget.value })}
            required
            maxLength={100}
          />
          {isGrant && (
            <Field
              label="Expires"
              hint="Empty: never."
              type="date"
              value={expires}
              onInput={(event) => set({ expires: event.currentTarget.value })}
            />
          )}
        </>
      }
    />
  );
}
