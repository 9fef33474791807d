import type { ApiKey, NewApiKey } from '../../../../server/src/site/keys/key-shapes.ts';
import { type ApiFailure, api } from '../../api.ts';
import { useDraft } from '../../draft.ts';
import { Select } from '../../ui/form/controls.tsx';
import { Field } from '../../ui/form/field.tsx';
import { FormDialog } from '../../ui/form/form-dialog.tsx';

const DAY_MS = 86_400_000;
const MODES = [
  { value: 'live', label: 'Live: videos are paid with your credits' },
  { value: 'test', label: 'Test: small sample videos, paid with test credits' },
];
const EXPIRIES = [
  { value: '', label: 'Never' },
  { value: '30', label: 'In 30 days' },
  { value: '90', label: 'In 90 days' },
  { value: '365', label: 'In a year' },
];

/** Of a failure that names this field: its sentence. */
function errorOf(failure: ApiFailure | undefined, field: string): string | undefined {
  return failure?.details.field === field ? failure.message : undefined;
}

const isBeside = ({ details }: ApiFailure) =>
  details.field === 'name' || details.field === 'monthly_cap';

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

interface KeyDraft {
  name: string;
  mode: string;
  days: string;
  cap: string;
}

function bodyOf({ name, mode, days, cap }: KeyDraft) {
  const expires = days && new Date(Date.now() + Number(days) * DAY_MS).toISOString();
  return {
    name,
    mode: mode === 'test' ? ('test' as const) : ('live' as const),
    ...(expires && { expires_at: expires }),
    ...(cap !== '' && { monthly_cap: Number(cap) }),
  };
}

function ModeAndExpiry({
  mode,
  days,
  onChange,
}: Pick<KeyDraft, 'mode' | 'days'> & { onChange: (changed: Partial<KeyDraft>) => void }) {
  return (
    <>
      <Select
        label="Mode"
        value={mode}
        onChange={(text) => onChange({ mode: text })}
        choices={MODES}
      />
      <Select
        label="Expires"
        value={days}
        onChange={(text) => onChange({ days: text })}
        choices={EXPIRIES}
      />
    </>
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
  const { value, set, drop } = useDraft('key', () => ({
    name: '',
    mode: 'live',
    days: '',
    cap: '',
  }));
  const { name, mode, days, cap } = value;
  const close = () => {
    drop();
    onClose();
  };
  const create = async () => {
    const made = await api('POST /console/api/keys', { body: bodyOf(value) });
    drop();
    onMade(made);
  };
  return (
    <FormDialog
      title="New API key"
      action="Create the key"
      onClose={close}
      onSend={create}
      isBeside={isBeside}
    >
      {(failure) => (
        <>
          <NameField
            value={name}
            onChange={(text) => set({ name: text })}
            error={errorOf(failure, 'name')}
          />
          <ModeAndExpiry mode={mode} days={days} onChange={set} />
          <CapField
            value={cap}
            onChange={(text) => set({ cap: text })}
            error={errorOf(failure, 'monthly_cap')}
          />
        </>
      )}
    </FormDialog>
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
  const save = async () => {
    const monthly_cap = cap === '' ? null : Number(cap);
    // Another cap must be confirmed, so only what has changed is sent.
    const body = { name, ...(monthly_cap !== apiKey.monthly_cap && { monthly_cap }) };
    await api('PATCH /console/api/keys/:id', { params: { id: apiKey.id }, body });
    onSaved();
    close();
  };
  return (
    <FormDialog
      title="Edit the key"
      action="Save"
      onClose={close}
      onSend={save}
      isBeside={isBeside}
    >
      {(failure) => (
        <>
          <NameField
            value={name}
            onChange={(text) => set({ name: text })}
            error={errorOf(failure, 'name')}
          />
          <CapField
            value={cap}
            onChange={(text) => set({ cap: text })}
            error={errorOf(failure, 'monthly_cap')}
          />
        </>
      )}
    </FormDialog>
  );
}
