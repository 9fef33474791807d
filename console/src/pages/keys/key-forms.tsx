import type { ApiKey, NewApiKey } from '../../../../server/src/site/keys/keys.ts';
import { api } from '../../api.ts';
import { useDraft } from '../../draft.ts';
import { useMode } from '../../session.tsx';
import { Select } from '../../ui/form/controls.tsx';
import { Field, type TextProps } from '../../ui/form/field.tsx';
import { DraftDialog } from '../../ui/form/form-dialog.tsx';

const DAY_MS = 86_400_000;
const EXPIRIES = [
  { value: '', label: 'Never' },
  { value: '30', label: 'In 30 days' },
  { value: '90', label: 'In 90 days' },
  { value: '365', label: 'In a year' },
];

type ControlOf = Omit<TextProps, 'label'>;

function NameField(name: ControlOf) {
  return (
    <Field
      label="Name"
      hint="What uses it, such as “production server”."
      {...name}
      required
      maxLength={100}
      autoComplete="off"
    />
  );
}

function CapField(cap: ControlOf) {
  return (
    <Field
      label="Monthly cap, in credits"
      hint="What the key may spend in a calendar month (UTC). Empty: no cap."
      type="number"
      min={0}
      step={1}
      inputMode="numeric"
      {...cap}
    />
  );
}

const EMPTY = { name: '', days: '', monthly_cap: '' };

function bodyOf({ name, days, monthly_cap: cap }: typeof EMPTY) {
  const expires = days && new Date(Date.now() + Number(days) * DAY_MS).toISOString();
  return {
    name,
    ...(expires && { expires_at: expires }),
    ...(cap !== '' && { monthly_cap: Number(cap) }),
  };
}

/** The dialog that makes a key. */
export function CreateKey({ onMade }: { onMade: (made: NewApiKey) => void }) {
  const mode = useMode();
  const draft = useDraft('key', () => EMPTY);
  return (
    <DraftDialog
      title={mode === 'test' ? 'New test key' : 'New API key'}
      action="Create the key"
      draft={draft}
      onSend={() => api('POST /console/api/keys', { body: { ...bodyOf(draft.value), mode } })}
      onSent={onMade}
    >
      {(field) => (
        <>
          <NameField {...field('name')} />
          <Select label="Expires" {...field('days')} choices={EXPIRIES} />
          <CapField {...field('monthly_cap')} />
        </>
      )}
    </DraftDialog>
  );
}

/** The dialog that renames a key and sets its cap. */
export function EditKey({ apiKey, onSaved }: { apiKey: ApiKey; onSaved: () => void }) {
  const draft = useDraft(`key ${apiKey.id}`, () => {
    return { name: apiKey.name ?? '', monthly_cap: String(apiKey.monthly_cap ?? '') };
  });
  const save = () => {
    const { name, monthly_cap: cap } = draft.value;
    const monthly_cap = cap === '' ? null : Number(cap);
    // Another cap must be confirmed, so only what has changed is sent.
    const body = { name, ...(monthly_cap !== apiKey.monthly_cap && { monthly_cap }) };
    return api('PATCH /console/api/keys/:id', { params: { id: apiKey.id }, body });
  };
  return (
    <DraftDialog title="Edit the key" action="Save" draft={draft} onSend={save} onSent={onSaved}>
      {(field) => (
        <>
          <NameField {...field('name')} />
          <CapField {...field('monthly_cap')} />
        </>
      )}
    </DraftDialog>
  );
}
