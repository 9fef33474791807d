import { api } from '../../api.ts';
import { useDraft } from '../../draft.ts';
import { showOverPages } from '../../over-pages.tsx';
import { useMode } from '../../session.tsx';
import type { Result } from '../../site-api.ts';
import { Field } from '../../ui/form/field.tsx';
import { DraftDialog, type DraftField } from '../../ui/form/form-dialog.tsx';
import { NewSecret } from '../../ui/form/new-secret.tsx';
import { type Endpoint, EVENTS, type EventType, hostOf, namesOf } from './endpoint-state.tsx';

function EventChoice({ value: chosen, onChange, error }: DraftField<EventType[]>) {
  const names = Object.keys(EVENTS) as EventType[];
  const toggle = (name: EventType, isOn: boolean) =>
    onChange(names.filter((one) => (one === name ? isOn : chosen.includes(one))));
  return (
    <fieldset class="grid gap-2">
      <legend class="mb-1.5 font-medium">Events</legend>
      {names.map((name) => (
        <label key={name} class="flex items-start gap-3">
          <input
            type="checkbox"
            checked={chosen.includes(name)}
            onChange={(event) => toggle(name, event.currentTarget.checked)}
            class="mt-1 size-4 flex-none accent-tungsten"
          />
          <span>
            <span class="figures">{name}</span>
            <span class="block text-sm text-dim">{EVENTS[name]}</span>
          </span>
        </label>
      ))}
      {error && (
        <p role="alert" class="text-sm text-bad">
          {error}
        </p>
      )}
    </fieldset>
  );
}

function DescriptionField(description: DraftField<string>) {
  return (
    <Field
      label="Description"
      hint="For you, such as “orders of the shop”. May be empty."
      {...description}
      maxLength={200}
      autoComplete="off"
    />
  );
}

type Made = Result<'POST /console/api/webhooks'>;

/** Shows the secret of an endpoint, whatever page comes next. */
export function showSecret(made: Made): void {
  showOverPages(
    <NewSecret
      title="The secret of the endpoint"
      secret={made.secret}
      onClose={() => showOverPages(null)}
    >
      <p class="mt-6 [overflow-wrap:anywhere] text-dim">
        Your server ({hostOf(made)}) verifies with it that an event comes from here, as Standard
        Webhooks describes.
      </p>
    </NewSecret>,
  );
}

const EMPTY = {
  url: '',
  description: '',
  events: ['task.completed', 'task.failed'] as EventType[],
};

/** The dialog that makes an endpoint. */
export function CreateEndpoint({ onClose, onMade }: { onClose: () => void; onMade: () => void }) {
  const mode = useMode();
  const draft = useDraft('webhook', () => EMPTY);
  return (
    <DraftDialog
      title={mode === 'test' ? 'New test endpoint' : 'New endpoint'}
      action="Create the endpoint"
      draft={draft}
      onClose={onClose}
      onSend={() => api('POST /console/api/webhooks', { query: { mode }, body: draft.value })}
      onSent={(made) => {
        showSecret(made);
        onMade();
      }}
    >
      {(field) => (
        <>
          <Field
            label="Address"
            hint="A public https address of your server that takes a POST."
            type="url"
            {...field('url')}
            placeholder="https://example.com/framewright"
            required
            maxLength={2048}
            autoComplete="off"
          />
          <DescriptionField {...field('description')} />
          <EventChoice {...field('events')} />
        </>
      )}
    </DraftDialog>
  );
}

interface EditProps {
  endpoint: Endpoint;
  onClose: () => void;
  onSaved: (saved: Endpoint) => void;
}

/** The dialog that changes what an endpoint hears of. */
export function EditEndpoint({ endpoint, onClose, onSaved }: EditProps) {
  const { id, description, events } = endpoint;
  const draft = useDraft(`webhook ${id}`, () => ({ description: description ?? '', events }));
  return (
    <DraftDialog
      title="Edit the endpoint"
      action="Save"
      draft={draft}
      onClose={onClose}
      onSend={() =>
        api('PATCH /console/api/webhooks/:id', { ...namesOf(endpoint), body: draft.value })
      }
      onSent={onSaved}
    >
      {(field) => (
        <>
          <DescriptionField {...field('description')} />
          <EventChoice {...field('events')} />
        </>
      )}
    </DraftDialog>
  );
}
