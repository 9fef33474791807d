import { useMemo } from 'preact/hooks';
import type { ApiKey, KeyRequests } from '../../../../server/src/site/keys/keys.ts';
import { api } from '../../api.ts';
import { useLoad } from '../../load.ts';
import { useMode } from '../../session.tsx';
import { Badge, TestMark } from '../../ui/badge.tsx';
import { Button, Link } from '../../ui/button.tsx';
import { Chart } from '../../ui/chart/chart.tsx';
import { Dialog, openDialog } from '../../ui/dialog.tsx';
import { confirm } from '../../ui/form/form-dialog.tsx';
import { Credits, formatNumber, RelativeTime } from '../../ui/format.tsx';
import { Page } from '../../ui/page.tsx';
import { Empty, Load, Skeleton } from '../../ui/states.tsx';
import { Cell, type Column, column, ListCard, prose, RowButtons, Table } from '../../ui/table.tsx';
import { toast } from '../../ui/toast.tsx';
import { KeyForm } from './key-forms.tsx';

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
        row={nameOf(key)}
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

function CapUsed({ apiKey }: { apiKey: ApiKey }) {
  const { monthly_cap: cap, spent_this_month: spent } = apiKey;
  const used = <Credits value={spent} />;
  if (cap === null) return <Cell below="no cap">{used}</Cell>;
  const share = cap === 0 ? 1 : Math.min(1, spent / cap);
  return (
    <div class="whitespace-nowrap">
      {used} <span class="text-sm text-dim">of</span> <Credits value={cap} />
      <span class="mt-1.5 block h-1.5 w-full bg-well outline outline-line" aria-hidden="true">
        <span
          class={`block h-full ${share >= 0.9 ? 'bg-bad' : 'bg-tungsten'}`}
          style={{ width: `${share * 100}%` }}
        />
      </span>
    </div>
  );
}

const BAR = { width: 2, gap: 1, height: 22 };

function RequestBars({ apiKey }: { apiKey: ApiKey }) {
  const { requests } = apiKey;
  const total = requests.reduce((sum, count) => sum + count, 0);
  const most = Math.max(1, ...requests);
  const step = BAR.width + BAR.gap;
  return (
    <button
      type="button"
      onClick={() => openDialog(<RequestsByDay apiKey={apiKey} />)}
      class="inline-flex items-baseline gap-2.5 text-left hover:text-print"
      aria-label={`${formatNumber(total)} requests in 30 days with ${nameOf(apiKey)}: show them by day`}
    >
      <svg width={requests.length * step} height={BAR.height} aria-hidden="true">
        {requests.map((count, day) => {
          const height = count === 0 ? 1 : Math.max(2, (count / most) * BAR.height);
          return (
            <rect
              key={day}
              x={day * step}
              y={BAR.height - height}
              width={BAR.width}
              height={height}
              class={count === 0 ? 'fill-line' : 'fill-tungsten'}
            />
          );
        })}
      </svg>
      <span class="figures text-sm">{formatNumber(total)}</span>
    </button>
  );
}

function RequestsByDay({ apiKey }: { apiKey: ApiKey }) {
  const loaded = useLoad('/console/api/keys/:id/requests', { params: { id: apiKey.id } });
  return (
    <Dialog title={`Requests with “${nameOf(apiKey)}”`}>
      <Load from={loaded} skeleton={<Skeleton lines={8} />}>
        {(requests) => <Days {...requests} />}
      </Load>
      <p class="mt-4 text-sm text-dim">
        Per day (UTC), without requests that were refused with 401 or 429. A request appears within
        about a minute.
      </p>
    </Dialog>
  );
}

function Days({ days }: KeyRequests) {
  const data = useMemo(
    () => ({
      times: days.map(({ day }) => Date.parse(day) / 1000),
      series: [{ label: 'Requests', values: days.map(({ requests }) => requests) }],
    }),
    [days],
  );
  const total = days.reduce((sum, { requests }) => sum + requests, 0);
  const today = days.at(-1)?.requests ?? 0;
  const words = `${formatNumber(total)} in ${days.length} days, ${formatNumber(today)} today`;
  return (
    <>
      <p class="mb-3 text-dim">{words}</p>
      <Chart data={data} label={`Requests per day: ${words}`} kind="bars" height={180} />
    </>
  );
}

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
