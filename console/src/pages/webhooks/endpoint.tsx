import { useLocation, useRoute } from 'preact-iso';
import { api } from '../../api.ts';
import { isMissing, useList, useLoad } from '../../load.ts';
import { useMode } from '../../session.tsx';
import { TestMark } from '../../ui/badge.tsx';
import { Button } from '../../ui/button.tsx';
import { Card, Facts } from '../../ui/card.tsx';
import { openDialog } from '../../ui/dialog.tsx';
import { confirm } from '../../ui/form/form-dialog.tsx';
import { DateTime, RelativeTime } from '../../ui/format.tsx';
import { Page } from '../../ui/page.tsx';
import { Load } from '../../ui/states.tsx';
import { toast, toastFailure, toastOutcome } from '../../ui/toast.tsx';
import { NotFound } from '../not-found/not-found.tsx';
import { Deliveries } from './deliveries.tsx';
import {
  type Endpoint,
  EndpointForm,
  EndpointState,
  hostOf,
  inputOf,
  NO_ADDRESS,
  showSecret,
} from './endpoint-forms.tsx';

export default function EndpointPage() {
  const { id = '' } = useRoute().params;
  const mode = useMode();
  const input = { params: { id }, query: { mode } };
  const loaded = useLoad('/console/api/webhooks/:id', input);
  const log = useList('/console/api/webhooks/:id/deliveries', input);
  if (isMissing(loaded)) {
    return (
      <NotFound
        title="Endpoint not found"
        lead={`This account has no ${mode} endpoint with this id.`}
        href="/webhooks"
        action="All webhooks"
      />
    );
  }
  const { data } = loaded;
  const sendTest = () =>
    toastOutcome(
      api('POST /console/api/webhooks/:id/test', input).then(() => void log.reload()),
      data?.url === null ? 'The test event is in the log.' : 'The test event is on its way.',
    );
  return (
    <Page
      title={data ? hostOf(data) : 'Webhook'}
      isTitleComing={!data && !loaded.error}
      actions={data?.disabled_at === null && <Button onClick={sendTest}>Send a test event</Button>}
    >
      <Load from={loaded}>
        {(endpoint) => (
          <>
            <Settings endpoint={endpoint} onChanged={loaded.set} />
            <Deliveries endpoint={endpoint} log={log} onChanged={loaded.reload} />
          </>
        )}
      </Load>
    </Page>
  );
}

interface Changes {
  endpoint: Endpoint;
  onChanged: (changed: Endpoint) => void;
}

function Settings({ endpoint, onChanged }: Changes) {
  const { route } = useLocation();
  const questions = questionsOf({ endpoint, onChanged, onDeleted: () => route('/webhooks') });
  const ask = (question: keyof typeof questions) => confirm(questions[question]);
  const enable = () =>
    api('PATCH /console/api/webhooks/:id', {
      ...inputOf(endpoint),
      body: { enabled: true },
    }).then(onChanged, toastFailure);
  return (
    <Card
      title="Settings"
      actions={
        <>
          <Button
            onClick={() => openDialog(<EndpointForm endpoint={endpoint} onSaved={onChanged} />)}
          >
            Edit
          </Button>
          {endpoint.disabled_at === null ? (
            <Button onClick={() => ask('disable')}>Disable</Button>
          ) : (
            <Button look="primary" onClick={enable}>
              Enable
            </Button>
          )}
          <Button onClick={() => ask('secret')}>Replace the secret</Button>
          <Button onClick={() => ask('delete')}>Delete</Button>
        </>
      }
    >
      <Facts facts={factsOf(endpoint)} />
    </Card>
  );
}

function factsOf(endpoint: Endpoint) {
  const { mode, url, description, events, created_at, failing_since, earlier_secret_until } =
    endpoint;
  return [
    { name: 'Address', value: url ?? NO_ADDRESS, mono: url !== null },
    { name: 'Description', value: description },
    { name: 'Mode', value: mode === 'test' ? <TestMark /> : null },
    { name: 'Events', value: events.join(', '), mono: true },
    { name: 'State', value: <EndpointState endpoint={endpoint} /> },
    { name: 'Failing since', value: failing_since && <RelativeTime at={failing_since} /> },
    {
      name: 'Previous secret valid until',
      value: earlier_secret_until && <DateTime at={earlier_secret_until} />,
    },
    { name: 'Created', value: <DateTime at={created_at} /> },
  ];
}

function questionsOf({ endpoint, onChanged, onDeleted }: Changes & { onDeleted: () => void }) {
  const input = inputOf(endpoint);
  return {
    secret: {
      title: 'Replace the secret?',
      action: 'Replace the secret',
      text: 'The current secret keeps signing beside the new one for a day. An older one stops at once.',
      request: async () => {
        const made = await api('POST /console/api/webhooks/:id/secret', input);
        const { secret: _, ...changed } = made;
        onChanged(changed);
        showSecret(made);
      },
    },
    disable: {
      title: 'Disable the endpoint?',
      action: 'Disable the endpoint',
      text: 'Nothing is sent to it. Events that happen while it is disabled are never sent.',
      request: async () => {
        const body = { enabled: false };
        onChanged(await api('PATCH /console/api/webhooks/:id', { ...input, body }));
      },
    },
    delete: {
      title: 'Delete the endpoint?',
      action: 'Delete the endpoint',
      text: 'Nothing more is sent to it, and its log is deleted. This can’t be undone.',
      request: async () => {
        await api('DELETE /console/api/webhooks/:id', input);
        toast('The endpoint is deleted.');
        onDeleted();
      },
    },
  };
}
