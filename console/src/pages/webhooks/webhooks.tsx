import { useLoad } from '../../load.ts';
import { useMode } from '../../session.tsx';
import { Button, Link } from '../../ui/button.tsx';
import { openDialog } from '../../ui/dialog.tsx';
import { RelativeTime } from '../../ui/format.tsx';
import { Page } from '../../ui/page.tsx';
import { Empty } from '../../ui/states.tsx';
import { Cell, type Column, column, ListCard, prose } from '../../ui/table.tsx';
import { type Endpoint, EndpointForm, EndpointState, NO_ADDRESS } from './endpoint-forms.tsx';

const MADE = {
  live: 'tasks that were made with an API key',
  test: 'test tasks, made with a test key or on this website in test mode',
};

export default function WebhooksPage() {
  const mode = useMode();
  const list = useLoad('/console/api/webhooks', { query: { mode } });
  const { data } = list;
  const create = (
    <Button
      look="primary"
      icon="plus"
      onClick={() => openDialog(<EndpointForm onSaved={() => void list.reload()} />)}
    >
      New endpoint
    </Button>
  );
  const hasRoom = data && data.items.length > 0 && data.items.length < data.max_endpoints;
  return (
    <Page
      title="Webhooks"
      lead={`Your server hears about ${MADE[mode]}, without polling: each event is sent to it as a signed POST.`}
      actions={hasRoom && create}
    >
      <ListCard
        list={{ ...list, items: data?.items }}
        empty={
          <Empty title="No endpoint yet" action={create}>
            Name an https address of your server and the events that it should get.
          </Empty>
        }
        caption="Webhook endpoints"
        columns={COLUMNS}
      />
    </Page>
  );
}

const COLUMNS: Column<Endpoint>[] = [
  prose('Address', ({ id, url, description }) => (
    <Cell below={description}>
      <Link href={`/webhooks/${id}`}>{url ?? NO_ADDRESS}</Link>
    </Cell>
  )),
  column('Events', ({ events }) => (
    <ul class="figures text-sm">
      {events.map((name) => (
        <li key={name}>{name}</li>
      ))}
    </ul>
  )),
  column('State', (endpoint) => <EndpointState endpoint={endpoint} />),
  column('Created', ({ created_at: at }) => <RelativeTime at={at} />),
];
