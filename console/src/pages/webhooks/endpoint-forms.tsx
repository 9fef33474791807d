import { type ApiFailure, api } from '../../api.ts';
import { useDraft } from '../../draft.ts';
import { showOverPages } from '../../over-pages.tsx';
import type { Result } from '../../site-api.ts';
import { Field } from '../../ui/form/field.tsx';
import { FormDialog } from '../../ui/form/form-dialog.tsx';
import { NewSecret } from '../../ui/form/new-secret.tsx';
import { type Endpoint, EVENTS, type EventType, hostOf } from './endpoint-state.tsx';

/** Of a failure that names this field: its sentence. */
function errorOf(failure: ApiFailure | undefined, field: string): string | undefined {
  return failure?.details.field === field ? failure.message : undefined;
}

const isBeside = ({ details }: ApiFailure) =>
  details.field === 'url' || details.field === 'description' || details.field === 'events';

function EventChoice({
  chosen,
  onChange,
  error,
}: {
  chosen: EventType[];
  onChange: (events: EventType[]) => void;
  error: string | undefined;
}) {
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

function DescriptionField({
  value,
  onChange,
  error,
}: {
  value: string;
  onChange: (value: string) => void;
  error: string | undefined;
}) {
  return (
    <Field
      label="Description"
      hint="For you, such as “orders of the shop”. May be empty."
      value={value}
      onInput={(event) => onChange(event.currentTarget.value)}
      error={error}
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

/** The dialog that makes an endpoint. */
export function CreateEndpoint({ onClose, onMade }: { onClose: () => void; onMade: () => void }) {
  const start = { url: '', description: '', events: ['task.completed', 'task.failed'] };
  const { value, set, drop } = useDraft('webhook', () => start as Draft);
  const close = () => {
    drop();
    onClose();
  };
  const create = async () => {
    const made = await api('POST /console/api/webhooks', { body: value });
    close();
    showSecret(made);
    onMade();
  };
  return (
    <FormDialog
      title="New endpoint"
      action="Create the endpoint"
      onClose={close}
      onSend={create}
      isBeside={isBeside}
    >
      {(failure) => (
        <>
          <Field
            label="Address"
            hint="A public https address of your server that takes a POST."
            type="url"
            value={value.url}
            onInput={(event) => set({ url: event.currentTarget.value })}
            error={errorOf(failure, 'url')}
            placeholder="https://example.com/framewright"
            required
            maxLength={2048}
            autoComplete="off"
          />
          <DescriptionField
            value={value.description}
            onChange={(description) => set({ description })}
            error={errorOf(failure, 'description')}
          />
          <EventChoice
            chosen={value.events}
            onChange={(events) => set({ events })}
            error={errorOf(failure, 'events')}
          />
        </>
      )}
    </FormDialog>
  );
}

interface Draft {
  url: string;
  description: string;
  events: EventType[];
}

/** The dialog that changes what an endpoint hears of. */
export function EditEndpoint({
  endpoint,
  onClose,
  onSaved,
}: {
  endpoint: Endpoint;
  onClose: () => void;
  onSaved: (saved: Endpoint) => void;
}) {
  const { value, set, drop } = useDraft(`webhook ${endpoint.id}`, () => ({
    description: endpoint.description ?? '',
    events: endpoint.events,
  }));
  const close = () => {
    drop();
    onClose();
  };
  const save = async () => {
    const params = { id: endpoint.id };
    onSaved(await api('PATCH /console/api/webhooks/:id', { params, body: value }));
    close();
  };
  return (
    <FormDialog
      title="Edit the endpoint"
      action="Save"
      onClose={close}
      onSend={save}
      isBeside={isBeside}
    >
      {(failure) => (
        <>
          <DescriptionField
            value={value.description}
            onChange={(description) => set({ description })}
            error={errorOf(failure, 'description')}
          />
          <EventChoice
            chosen={value.events}
            onChange={(events) => set({ events })}
            error={errorOf(failure, 'events')}
          />
        </>
      )}
    </FormDialog>
  );
}
