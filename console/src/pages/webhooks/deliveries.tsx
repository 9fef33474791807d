import { api } from '../../api.ts';
import { type LoadedList, useEvery } from '../../load.ts';
import type { Result } from '../../site-api.ts';
import { Badge } from '../../ui/badge.tsx';
import { Card } from '../../ui/card.tsx';
import { DateTime, RelativeTime } from '../../ui/format.tsx';
import { Cell, type Column, column, ListTable, prose, RowButtons } from '../../ui/table.tsx';
import { toastOutcome } from '../../ui/toast.tsx';
import type { Endpoint } from './endpoint-forms.tsx';

type Delivery = Result<'GET /console/api/webhooks/:id/deliveries'>['items'][number];
type Attempt = Delivery['attempts'][number];

const POLL_MS = 1500;
/** While a try is due this soon, the log is polled. */
const SOON_MS = 10_000;

interface DeliveriesProps {
  endpoint: Endpoint;
  log: LoadedList<Delivery>;
  /** Called when tries may have changed the endpoint's state. */
  onChanged: () => Promise<void>;
}

export function Deliveries({ endpoint, log, onChanged }: DeliveriesProps) {
  const isEnabled = endpoint.disabled_at === null;
  const isDue = log.items?.some(
    ({ next_attempt_at: at }) => at !== null && Date.parse(at) < Date.now() + SOON_MS,
  );
  useEvery(isEnabled && isDue ? POLL_MS : undefined, () => {
    if (!document.hidden) return Promise.all([log.reload(), onChanged()]);
  });
  const sendAgain = ({ event_id: eventId }: Delivery) =>
    toastOutcome(
      api('POST /console/api/webhooks/:id/deliveries/:eventId/send', {
        params: { id: endpoint.id, eventId },
        query: { mode: endpoint.mode },
      }).then(() => void log.reload()),
      'The event is sent again.',
    );
  const canResend = isEnabled && endpoint.url !== null;
  const resend = column<Delivery>('', (delivery) => (
    <RowButtons row={delivery.event_id} on={{ 'Send again': () => sendAgain(delivery) }} />
  ));
  const columns = canResend ? [...COLUMNS, resend] : COLUMNS;
  return (
    <Card title="Deliveries" note="The last 30 days, the newest first.">
      <ListTable
        list={log}
        empty={<p class="text-dim">Nothing was sent yet. Send a test event to see one arrive.</p>}
        caption="Deliveries"
        columns={columns}
        keyOf={({ event_id: id }) => id}
      />
    </Card>
  );
}

const STATES = {
  waiting: { tone: 'busy', word: 'Waiting' },
  delivered: { tone: 'good', word: 'Delivered' },
  failed: { tone: 'bad', word: 'Failed' },
  logged: { tone: 'neutral', word: 'Logged' },
} as const;

const COLUMNS: Column<Delivery>[] = [
  prose('Event', ({ type, event_id: id, task_id: taskId }) => (
    <div class="md:min-w-60">
      <span class="figures">{type}</span>
      <span class="figures block text-sm text-dim">{id}</span>
      {taskId && <span class="figures block text-sm text-dim">{taskId}</span>}
    </div>
  )),
  column('Happened', ({ created_at: at }) => <RelativeTime at={at} />),
  column('State', ({ state, next_attempt_at: next }) => (
    <Cell below={next && ['next try ', <RelativeTime key="at" at={next} />]}>
      <Badge tone={STATES[state].tone}>{STATES[state].word}</Badge>
    </Cell>
  )),
  prose('Tries', Attempts),
];

function Attempts({ attempts, state }: Delivery) {
  if (attempts.length === 0) {
    return <span class="text-dim">{state === 'logged' ? 'none: no address' : 'none yet'}</span>;
  }
  const last = attempts.at(-1);
  return (
    <details>
      <summary class="cursor-pointer">
        {attempts.length === 1 ? '1 try' : `${attempts.length} tries`}
        {last && <span class="text-dim">, {outcomeOf(last)}</span>}
      </summary>
      <ol class="mt-2 grid gap-3 text-sm">
        {attempts.map((attempt) => (
          <li key={attempt.at} class="border-l border-edge pl-3">
            <DateTime at={attempt.at} />
            <span class="block">
              {outcomeOf(attempt)}, <span class="figures">{attempt.duration_ms} ms</span>
            </span>
            {attempt.response && (
              <pre class="figures mt-1 bg-well p-2 whitespace-pre-wrap [overflow-wrap:anywhere]">
                {attempt.response}
              </pre>
            )}
          </li>
        ))}
      </ol>
    </details>
  );
}

function outcomeOf({ status, cause }: Attempt): string {
  return status === null ? (cause ?? 'no response') : `HTTP status ${status}`;
}
