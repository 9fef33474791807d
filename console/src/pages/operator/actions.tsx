import { useLocation } from 'preact-iso';
import { useList } from '../../load.ts';
import type { Item } from '../../site-api.ts';
import { DateTime } from '../../ui/format.tsx';
import { Empty } from '../../ui/states.tsx';
import { type Column, Table } from '../../ui/table.tsx';
import { Id, ListPage, Recorded } from './frame.tsx';

type ActionRow = Item<'GET /console/api/operator/actions'>;

/** What operators changed, here and by commands; `?target=` shows one id. */
export function ActionsPage() {
  const { target = '' } = useLocation().query;
  return (
    <ListPage
      title="Actions"
      lead={target ? `What operators changed of ${target}` : 'What operators changed, and why.'}
      list={useList('/console/api/operator/actions', { query: { target } })}
      empty={<Empty title="Nothing was changed yet" />}
      {...TABLE}
    />
  );
}

export function ActionTable({ actions }: { actions: ActionRow[] }) {
  return <Table {...TABLE} rows={actions} />;
}

const COLUMNS: Column<ActionRow>[] = [
  { title: 'Time', cell: ({ at }) => <DateTime at={at} /> },
  { title: 'Who', kind: 'prose', cell: ({ actor }) => actor },
  { title: 'Command', cell: ({ command }) => command },
  { title: 'Target', cell: ({ target }) => <Target target={target} /> },
  { title: 'Reason', kind: 'prose', cell: ({ reason }) => reason ?? <Recorded value={null} /> },
  { title: 'Details', cell: ({ details }) => <Recorded value={details} /> },
];

const TABLE = { caption: 'Actions', columns: COLUMNS, keyOf: (row: ActionRow) => row.id };

function Target({ target }: { target: string }) {
  if (target.startsWith('task_')) return <Id href={`/operator/tasks/${target}`} id={target} />;
  if (target.startsWith('acct_')) return <Id href={`/operator/accounts/${target}`} id={target} />;
  return <span class="figures break-all">{target}</span>;
}
