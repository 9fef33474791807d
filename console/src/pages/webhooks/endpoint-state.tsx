import type { Result } from '../../site-api.ts';
import { Badge } from '../../ui/badge.tsx';

export type Endpoint = Result<'GET /console/api/webhooks/:id'>;
export type EventType = Endpoint['events'][number];

/** How requests name an endpoint. */
export function namesOf({ id, mode }: Endpoint) {
  return { params: { id }, query: { mode } };
}

/** What an endpoint can hear of, in the words of the pages. */
export const EVENTS: Record<EventType, string> = {
  'task.completed': 'A task is completed',
  'task.failed': 'A task failed and was refunded',
  'task.held': 'It is not known yet whether a task was accepted',
  'credits.low': 'The credits fall below the limit of the page Credits',
};

/** The events of an endpoint without an address are only kept in its log. */
export const NO_ADDRESS = 'No address';

export const hostOf = ({ url }: { url: string | null }) =>
  url === null ? NO_ADDRESS : new URL(url).host;

const DISABLED = {
  owner: 'Disabled',
  gone: 'Switched off: it responded 410',
  failing: 'Switched off: it failed for five days',
};

/** Whether events are sent to it, and whether they arrive. */
export function EndpointState({ endpoint }: { endpoint: Endpoint }) {
  const { disabled_because: why, failing_since: failingSince } = endpoint;
  if (why !== null)
    return <Badge tone={why === 'owner' ? 'neutral' : 'bad'}>{DISABLED[why]}</Badge>;
  if (failingSince !== null) return <Badge tone="bad">Failing</Badge>;
  return <Badge tone="good">Enabled</Badge>;
}
