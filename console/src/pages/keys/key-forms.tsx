import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import type { ApiKey, NewApiKey } from '../../../../server/src/site/keys/key-shapes.ts';
import { type ApiFailure, api } from '../../api.ts';
import { useDraft } from '../../draft.ts';
import { asFailure } from '../../load.ts';
import { Button } from '../../ui/button.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { Select } from '../../ui/form/controls.tsx';
import { Field } from '../../ui/form/field.tsx';

const DAY_MS = 86_400_000;
const EXPIRIES = [
  { value: '', label: 'Never' },
  { value: '30', label: 'In 30 days' },
  { value: '90', label: 'In 90 days' },
  { value: '365', label: 'In a year' },
];

/** Sends a form, and keeps its error beside the field that it names. */
function useSending(send: () => Promise<void>) {
  const [isBusy, setBusy] = useState(false);
  const [failure, setFailure] = useState<ApiFailure>();
  const submit = async (event: Event) => {
    event.preventDefault();
    setBusy(true);
    setFailure(undefined);
    await send().catch((error) => setFailure(asFailure(error)));
    setBusy(false);
  };
  const errorOf = (field: string) =>
    failure?.details.field === field ? failure.message : undefined;
  const isElsewhere = failure && !['name', 'monthly_cap'].includes(String(failure.details.field));
  return { isBusy, submit, errorOf, rest: isElsewhere ? failure.message : '' };
}

function Form({
  sending,
  children,
  action,
  onClose,
}: {
  sending: ReturnType<typeof useSending>;
  children: ComponentChildren;
  action: string;
  onClose: () => void;
}) {
  return (
    <form onSubmit={(event) => void sending.submit(event)} class="grid gap-5">
      {children}
      <p role="alert" class="text-bad empty:hidden">
        {sending.rest}
      </p>
      <div class="flex flex-wrap justify-end gap-2.5">
        <Button onClick={onClose}>Cancel</Button>
        <Button look="primary" type="submit" busy={sending.isBusy}>
          {action}
        </Button>
      </div>
    </form>
  );
}

interface CapProps {
  value: string;
  onChange: (value: string) => void;
  error: string | undefined;
}

function NameField({ value, onChange, error }: CapProps) {
  return (
    <Field
      label="Name"
      hint="What uses it, such as “production server”."
      value={value}
      onInput={(event) => onChange(event.currentTarget.value)}
      error={error}
      required
      maxLength={100}
      autoComplete="off"
    />
  );
}

function CapField({ value, onChange, error }: CapProps) {
  return (
    <Field
      label="Monthly cap, in credits"
      hint="What the key may spend in a calendar month (UTC). Empty: no cap."
      type="number"
      min={0}
      step={1}
      inputMode="numeric"
      value={value}
      onInput={(event) => onChange(event.currentTarget.value)}
      error={error}
    />
  );
}

/** The dialog that makes a key. */
export function CreateKey({
  onClose,
  onMade,
}: {
  onClose: () => void;
  onMade: (made: NewApiKey) => void;
}) {
  const { value, set, drop } = useDraft('key', () => ({ name: '', days: '', cap: '' }));
  const { name, days, cap } = value;
  const close = () => {
    drop();
    onClose();
  };
  const sending = useSending(async () => {
    const expires = days && new Date(Date.now() + Number(days) * DAY_MS).toISOString();
    const body = {
      name,
      ...(expires && { expires_at: expires }),
      ...(cap !== '' && { monthly_cap: Number(cap) }),
    };
    const made = await api('POST /console/api/keys', { body });
    drop();
    onMade(made);
  });
  return (
    <Dialog open onClose={close} title="New API key">
      <Form sending={sending} action="Create the key" onClose={close}>
        <NameField
          value={name}
          onChange={(text) => set({ name: text })}
          error={sending.errorOf('name')}
        />
        <Select
          label="Expires"
          value={days}
          onChange={(text) => set({ days: text })}
          choices={EXPIRIES}
        />
        <CapField
          value={cap}
          onChange={(text) => set({ cap: text })}
          error={sending.errorOf('monthly_cap')}
        />
      </Form>
    </Dialog>
  );
}

/** The dialog that renames a key and sets its cap. */
export function EditKey({
  apiKey,
  onClose,
  onSaved,
}: {
  apiKey: ApiKey;
  onClose: () => void;
  onSaved: () => void;
}) {
  const { value, set, drop } = useDraft(`key ${apiKey.id}`, () => {
    return { name: apiKey.name ?? '', cap: String(apiKey.monthly_cap ?? '') };
  });
  const { name, cap } = value;
  const close = () => {
    drop();
    onClose();
  };
  const sending = useSending(async () => {
    const monthly_cap = cap === '' ? null : Number(cap);
    // Another cap must be confirmed, so only what has changed is sent.
    const body = { name, ...(monthly_cap !== apiKey.monthly_cap && { monthly_cap }) };
    await api('PATCH /console/api/keys/:id', { params: { id: apiKey.id }, body });
    onSaved();
    close();
  });
  return (
    <Dialog open onClose={close} title="Edit the key">
      <Form sending={sending} action="Save" onClose={close}>
        <NameField
          value={name}
          onChange={(text) => set({ name: text })}
          error={sending.errorOf('name')}
        />
        <CapField
          value={cap}
          onChange={(text) => set({ cap: text })}
          error={sending.errorOf('monthly_cap')}
        />
      </Form>
    </Dialog>
  );
}
