import { api } from '../../api.ts';
import { useDraft } from '../../draft.ts';
import { useMode } from '../../session.tsx';
import type { Result } from '../../site-api.ts';
import { Badge } from '../../ui/badge.tsx';
import { openDialog } from '../../ui/dialog.tsx';
import { Field, Problem } from '../../ui/form/field.tsx';
import { DraftDialog, type DraftField } from '../../ui/form/form-dialog.tsx';
import { NewSecret } from '../../ui/form/new-secret.tsx';

export type Endpoint = Result<'GET /console/api/webhooks/:id'>;
type EventType = Endpoint['events'][number];

export function inputOf({ id, mode }: Endpoint) {
  return { params: { id }, query: { mode } };
}

const EVENTS: Record<EventType, string> = {
  'task.completed': 'A task is completed',
  'task.failed': 'A task failed and was refunded',
  'task.held': 'It is not known yet whether a task was accepted, or how it ended',
  'credits.low': 'The credits fall below the limit of the page Credits',
};

/** An endpoint without a URL only logs its events. */
export const NO_ADDRESS = 'No address';

export const hostOf = ({ url }: { url: string | null }) =>
  url === null ? NO_ADDRESS : new URL(url).host;

const DISABLED = {
  owner: 'Disabled',
  gone: 'Switched off: it responded 410',
  failing: 'Switched off: it failed for five days',
};

export function EndpointState({ endpoint }: { endpoint: Endpoint }) {
  const { disabled_because: why, failing_since: failingSince } = endpoint;
  if (why !== null)
    return <Badge tone={why === 'owner' ? 'neutral' : 'bad'}>{DISABLED[why]}</Badge>;
  if (failingSince !== null) return <Badge tone="bad">Failing</Badge>;
  return <Badge tone="good">Enabled</Badge>;
}

function EventChoice({ value: chosen, onChange, error }: DraftField<EventType[]>) {
  const names = Object.keys(EVENTS) as EventType[];
  const toggle = (name: EventType, isOn: boolean) =>
    onChange(names.filter((candidate) => (candidate === name ? isOn : chosen.includes(candidate))));
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
      {error && <Problem>{error}</Problem>}
    </fieldset>
  );
}

type Made = Result<'POST /console/api/webhooks'>;

export function showSecret(made: Made): void {
  openDialog(
    <NewSecret title="The secret of the endpoint" secret={made.secret}>
      <p class="mt-6 [overflow-wrap:anywhere] text-dim">
        Your server ({hostOf(made)}) verifies with it that an event comes from here, as Standard
        Webhooks describes.
      </p>
    </NewSecret>,
    { mustBeAnswered: true },
  );
}

interface FormProps {
  endpoint?: Endpoint;
  onSaved: (saved: Endpoint | Made) => void;
}

export function EndpointForm({ endpoint, onSaved }: FormProps) {
  const mode = useMode();
  const { id = '', description, events = ['task.completed', 'task.failed'] } = endpoint ?? {};
  const initial = () => ({
    url: '',
    description: description ?? '',
    events: [...events] as EventType[],
  });
  const draft = useDraft(endpoint ? `webhook ${id}` : 'webhook', initial);
  const send = () => {
    const { url, ...body } = draft.value;
    if (endpoint) return api('PATCH /console/api/webhooks/:id', { ...inputOf(endpoint), body });
    return api('POST /console/api/webhooks', { query: { mode }, body: { url, ...body } });
  };
  const words = mode === 'test' ? 'New test endpoint' : 'New endpoint';
  return (
    <DraftDialog<ReturnType<typeof initial>, Endpoint | Made>
      title={endpoint ? 'Edit the endpoint' : words}
      action={endpoint ? 'Save' : 'Create the endpoint'}
      draft={draft}
      onSend={send}
      onSent={(saved) => {
        if ('secret' in saved) showSecret(saved);
        onSaved(saved);
      }}
    >
      {(field) => (
        <>
          {!endpoint && (
            <Field
              label="Address"
              hint="A public https address of your server that takes a POST."
              type="url"
              {...field('url')}
              placeholder="https://example.com/framewright"
              required
              maxLength={2048}
            />
          )}
          <Field
            label="Description"
            hint="For you, such as “orders of the shop”. May be empty."
            {...field('description')}
            maxLength={200}
          />
          <EventChoice {...field('events')} />
        </>
      )}
    </DraftDialog>
  );
}
