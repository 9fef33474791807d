import { useLocation } from 'preact-iso';
import { useList } from '../../load.ts';
import type { Item } from '../../site-api.ts';
import { DateTime } from '../../ui/format.tsx';
import { Empty } from '../../ui/states.tsx';
import { type Column, column } from '../../ui/table.tsx';
import { Id, ListPage, Recorded } from './frame.tsx';

type ActionRow = Item<'GET /console/api/operator/verbs/actions/list'>;

/** Operators' changes, made here or by commands; `?target=` filters by id. */
export function ActionsPage() {
  const { target = '' } = useLocation().query;
  return (
    <ListPage
      title="Actions"
      lead={target ? `What operators changed of ${target}` : 'What operators changed, and why.'}
      list={useList('/console/api/operator/verbs/actions/list', { query: { target } })}
      empty={<Empty title="Nothing was changed yet" />}
      {...ACTIONS}
    />
  );
}

const COLUMNS: Column<ActionRow>[] = [
  column('Time', ({ at }) => <DateTime at={at} />),
  column('Who', ({ actor }) => actor, 'prose'),
  column('Command', ({ command }) => command),
  column('Target', ({ target }) => <Target target={target} />),
  column('Reason', ({ reason }) => reason ?? <Recorded value={null} />, 'prose'),
  column('Details', ({ details }) => <Recorded value={details} />),
];

/** The table of actions, shared with an account's page. */
export const ACTIONS = { caption: 'Actions', columns: COLUMNS, keyOf: (row: ActionRow) => row.id };

function Target({ target }: { target: string }) {
  if (target.startsWith('task_')) return <Id href={`/operator/tasks/${target}`} id={target} />;
  if (target.startsWith('acct_')) return <Id href={`/operator/accounts/${target}`} id={target} />;
  return <span class="figures break-all">{target}</span>;
}
