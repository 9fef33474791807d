import type { ApiKey, NewApiKey } from '../../../../server/src/site/keys/keys.ts';
import { api } from '../../api.ts';
import { useDraft } from '../../draft.ts';
import { useMode } from '../../session.tsx';
import type { Mode } from '../../site-api.ts';
import { Code } from '../../ui/code.tsx';
import { openDialog } from '../../ui/dialog.tsx';
import { Field } from '../../ui/form/field.tsx';
import { DraftDialog } from '../../ui/form/form-dialog.tsx';
import { NewSecret } from '../../ui/form/new-secret.tsx';

/** A key is valid until the end of its last day (UTC). */
const END_OF_DAY = 'T23:59:59.000Z';
const dayOf = ({ expires_at: at }: ApiKey) => at?.slice(0, 10) ?? '';

/** Edits a key, or creates one if there is no `apiKey`. */
export function KeyForm({ apiKey, onSaved }: { apiKey?: ApiKey; onSaved: () => unknown }) {
  const mode = useMode();
  const draft = useDraft(apiKey ? `key ${apiKey.id}` : 'key', () => ({
    name: apiKey?.name ?? '',
    day: apiKey ? dayOf(apiKey) : '',
    monthly_cap: String(apiKey?.monthly_cap ?? ''),
  }));
  const send = () => (apiKey ? save(apiKey, draft.value) : create(mode, draft.value));
  return (
    <DraftDialog<Entered, ApiKey | NewApiKey>
      title={apiKey ? 'Edit the key' : mode === 'test' ? 'New test key' : 'New API key'}
      action={apiKey ? 'Save' : 'Create the key'}
      draft={draft}
      onSend={send}
      onSent={(saved) => {
        if ('secret' in saved) showSecret(saved);
        onSaved();
      }}
    >
      {(field) => (
        <>
          <Field
            label="Name"
            hint="What uses the key, such as “production server”."
            {...field('name')}
            required
            maxLength={100}
          />
          <Field
            label="Last day"
            hint="The key works until this day ends (UTC). Empty: it never expires."
            type="date"
            min={new Date().toISOString().slice(0, 10)}
            {...field('day')}
          />
          <Field
            label="Monthly cap, in credits"
            hint="What the key may spend in a calendar month (UTC). Empty: no cap."
            type="number"
            min={0}
            step={1}
            inputMode="numeric"
            {...field('monthly_cap')}
          />
        </>
      )}
    </DraftDialog>
  );
}

type Entered = Record<'name' | 'day' | 'monthly_cap', string>;

function create(mode: Mode, { name, day, monthly_cap: cap }: Entered) {
  const body = {
    name,
    mode,
    ...(day && { expires_at: day + END_OF_DAY }),
    ...(cap !== '' && { monthly_cap: Number(cap) }),
  };
  return api('POST /console/api/keys', { body });
}

/** A change of the cap or the end requires a proof, so they are sent only if they have changed. */
function save(apiKey: ApiKey, { name, day, monthly_cap: cap }: Entered) {
  const { id, monthly_cap: before } = apiKey;
  const monthly_cap = cap === '' ? null : Number(cap);
  const body = {
    name,
    ...(monthly_cap !== before && { monthly_cap }),
    ...(day !== dayOf(apiKey) && { expires_at: day === '' ? null : day + END_OF_DAY }),
  };
  return api('PATCH /console/api/keys/:id', { params: { id }, body });
}

function showSecret({ key, secret }: NewApiKey): void {
  const curl = `curl -s ${location.origin}/api/v1/video/generations \\
  -H "Authorization: Bearer ${secret}" \\
  -H "Content-Type: application/json" \\
  -H "Idempotency-Key: first-$(date +%s)" \\
  -d '{"prompt": "A lighthouse at dawn, waves below"}'`;
  openDialog(
    <NewSecret title={`The secret of “${key.name}”`} secret={secret}>
      <p class="mt-6 mb-2 font-medium">Make a first video with it</p>
      <Code text={curl} label="A first request" />
    </NewSecret>,
    { mustBeAnswered: true },
  );
}
