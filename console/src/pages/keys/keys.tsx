import type { ApiKey } from '../../../../server/src/site/keys/keys.ts';
import { api } from '../../api.ts';
import { useLoad } from '../../load.ts';
import { useMode } from '../../session.tsx';
import { Badge, TestMark } from '../../ui/badge.tsx';
import { Button, Link } from '../../ui/button.tsx';
import { openDialog } from '../../ui/dialog.tsx';
import { confirm } from '../../ui/form/form-dialog.tsx';
import { RelativeTime } from '../../ui/format.tsx';
import { Page } from '../../ui/page.tsx';
import { Empty, Load, Skeleton } from '../../ui/states.tsx';
import { Cell, type Column, column, ListCard, prose, RowButtons, Table } from '../../ui/table.tsx';
import { toast } from '../../ui/toast.tsx';
import { KeyForm } from './key-forms.tsx';
import { CapUsed, RequestBars } from './key-use.tsx';

function isValid({ revoked_at, expires_at }: ApiKey): boolean {
  return revoked_at === null && (expires_at === null || Date.parse(expires_at) > Date.now());
}

const LIVE_LEAD = (
  <>
    Your server sends a key with each request to the <Link href="/openapi.json">API</Link>. Give
    each program its own key, so that you can revoke one without the others. Test keys, which cost
    nothing, are shown in test mode.
  </>
);
const TEST_LEAD =
  'Your tests send a test key to the API. The whole service runs, with test credits and small ' +
  'sample videos, and a word in the prompt chooses what happens.';

export default function KeysPage() {
  const mode = useMode();
  const list = useLoad('/console/api/keys', { query: { mode } });
  const ask = () => openDialog(<KeyForm onSaved={list.reload} />);
  const create = (
    <Button look="primary" icon="plus" onClick={ask}>
      {mode === 'test' ? 'New test key' : 'New key'}
    </Button>
  );
  return (
    <Page
      title={mode === 'test' ? 'Test keys' : 'API keys'}
      lead={mode === 'test' ? TEST_LEAD : LIVE_LEAD}
      actions={list.data && list.data.items.length > 0 && create}
    >
      <Load from={list} skeleton={<Skeleton lines={6} />}>
        {({ items }) => (
          <>
            <ListCard
              list={{ ...list, items: items.filter(isValid) }}
              empty={
                <Empty
                  title={mode === 'test' ? 'No test key yet' : 'No API key yet'}
                  action={create}
                >
                  {mode === 'test'
                    ? 'Create one to test your own program. Nothing that it makes costs credits.'
                    : 'Create one to call the API from your own program. A key is free; videos are paid with your credits.'}
                </Empty>
              }
              caption="Valid API keys"
              columns={columnsWith(list.reload)}
            />
            <EndedKeys keys={items.filter((key) => !isValid(key))} />
          </>
        )}
      </Load>
    </Page>
  );
}

function askToRevoke(apiKey: ApiKey, reload: () => Promise<void>): void {
  confirm({
    title: `Revoke “${nameOf(apiKey)}”?`,
    action: 'Revoke the key',
    text: 'Every request with it will get an error (401). Videos that are being made will be finished. This can’t be undone.',
    async request() {
      await api('DELETE /console/api/keys/:id', { params: { id: apiKey.id } });
      toast('The API key is revoked.');
      await reload();
    },
  });
}

function nameOf({ name, id }: ApiKey): string {
  return name ?? id;
}

function columnsWith(reload: () => Promise<void>): Column<ApiKey>[] {
  return [
    ...COLUMNS,
    column('', (key) => (
      <RowButtons
        of={nameOf(key)}
        on={{
          Edit: () => openDialog(<KeyForm apiKey={key} onSaved={reload} />),
          Revoke: () => askToRevoke(key, reload),
        }}
      />
    )),
  ];
}

const COLUMNS: Column<ApiKey>[] = [
  prose('Key', (key) => (
    <div class="md:max-w-72">
      <span class="font-medium">{nameOf(key)}</span> {key.mode === 'test' && <TestMark />}
      <span class="figures block text-sm text-dim" title={key.id}>
        {key.id.slice(0, 12)}…
      </span>
    </div>
  )),
  column('Created', (key) => (
    <Cell below={key.expires_at && ['expires ', <RelativeTime key="at" at={key.expires_at} />]}>
      <RelativeTime at={key.created_at} />
    </Cell>
  )),
  column('Last used', (key) => (
    <Cell below={key.last_used_network && <span class="figures">{key.last_used_network}</span>}>
      <RelativeTime at={key.last_used_at} otherwise="not yet" />
    </Cell>
  )),
  column('This month', (key) => <CapUsed apiKey={key} />),
  column('Last 30 days', (key) => <RequestBars apiKey={key} />),
];

function EndedKeys({ keys }: { keys: ApiKey[] }) {
  if (keys.length === 0) return null;
  const columns: Column<ApiKey>[] = [
    prose('Key', (key) => nameOf(key)),
    column('Created', (key) => <RelativeTime at={key.created_at} />),
    column('Ended', (key) => (
      <div>
        <Badge>{key.revoked_at ? 'Revoked' : 'Expired'}</Badge>{' '}
        <RelativeTime at={key.revoked_at ?? key.expires_at ?? key.created_at} />
      </div>
    )),
  ];
  return (
    <details class="border border-line bg-sheet p-5 sm:p-7">
      <summary class="cursor-pointer font-medium">Revoked and expired keys ({keys.length})</summary>
      <div class="mt-5">
        <Table caption="Ended API keys" columns={columns} rows={keys} />
      </div>
    </details>
  );
}
