import { useLocation } from 'preact-iso';
import { useList } from '../../load.ts';
import type { OperatorTaskRow } from '../../operator-shapes.ts';
import { Badge } from '../../ui/badge.tsx';
import { Button, Link } from '../../ui/button.tsx';
import { Credits, RelativeTime } from '../../ui/format.tsx';
import { Empty } from '../../ui/states.tsx';
import { type Column, ListCard } from '../../ui/table.tsx';
import { AccountLink, FindForm, Id, OperatorPage } from './frame.tsx';

const VIEWS = [
  { id: 'held', title: 'Held', query: { phase: 'held' } },
  { id: 'due', title: 'Due', query: { due: 'yes' } },
  { id: 'generating', title: 'Generating', query: { phase: 'generating' } },
  { id: 'failed', title: 'Failed', query: { phase: 'failed' } },
  { id: 'all', title: 'All', query: {} },
] as const;

/** Tasks, the held ones first; `?account=` shows one account's. */
export function TasksPage() {
  const { query, route } = useLocation();
  const account = query.account ?? '';
  const view = VIEWS.find(({ id }) => id === query.view) ?? VIEWS[account === '' ? 0 : 4];
  const list = useList('/console/api/operator/tasks', { query: { ...view.query, account } });
  const go = (id: string) => {
    const next = new URLSearchParams({ view: id, ...(account && { account }) });
    route(`/operator/tasks?${next}`);
  };
  return (
    <OperatorPage
      title="Tasks"
      lead={account && `Of ${account}`}
      actions={
        <FindForm
          field={{ label: 'Task', placeholder: 'task_…' }}
          button="Open"
          onFind={(id) => id && route(`/operator/tasks/${encodeURIComponent(id)}`)}
        />
      }
    >
      <fieldset class="flex flex-wrap gap-2">
        <legend class="sr-only">Which tasks</legend>
        {VIEWS.filter(({ id }) => id !== 'due' || account === '').map(({ id, title }) => (
          <Button
            key={id}
            small
            look={id === view.id ? 'primary' : 'plain'}
            aria-pressed={id === view.id}
            onClick={() => go(id)}
          >
            {title}
          </Button>
        ))}
      </fieldset>
      {view.id === 'held' && <Link href="/operator/tasks/held">Decide many at once</Link>}
      <ListCard
        list={list}
        empty={
          <Empty title={view.id === 'held' ? 'No task is held' : 'No such task'}>
            {view.id === 'held' && 'Nothing waits for a decision.'}
          </Empty>
        }
        caption="Tasks"
        columns={COLUMNS}
        keyOf={({ id }) => id}
      />
    </OperatorPage>
  );
}

export function Phase({ phase, cause }: { phase: string; cause: string | null }) {
  const tone =
    phase === 'held' || phase === 'failed' ? 'bad' : phase === 'completed' ? 'good' : 'busy';
  return <Badge tone={tone}>{cause === null ? phase : `${phase}: ${cause}`}</Badge>;
}

const COLUMNS: Column<OperatorTaskRow>[] = [
  { title: 'Task', cell: ({ id }) => <Id href={`/operator/tasks/${id}`} id={id} /> },
  { title: 'Phase', cell: (task) => <Phase phase={task.phase} cause={task.held_cause} /> },
  {
    title: 'Since',
    cell: (task) => <RelativeTime at={task.held_since ?? task.due_at ?? task.updated_at} />,
  },
  { title: 'Provider', cell: ({ provider }) => provider },
  { title: 'Model', cell: ({ model }) => model },
  { title: 'Credits', kind: 'number', cell: ({ credits }) => <Credits value={credits} /> },
  {
    title: 'Account',
    kind: 'prose',
    cell: (task) => <AccountLink of={task} />,
  },
];
