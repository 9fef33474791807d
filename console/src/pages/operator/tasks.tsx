import { useLocation } from 'preact-iso';
import { useList } from '../../load.ts';
import type { OperatorTaskRow } from '../../operator-shapes.ts';
import { Badge } from '../../ui/badge.tsx';
import { Button, Link } from '../../ui/button.tsx';
import { RelativeTime } from '../../ui/format.tsx';
import { Empty } from '../../ui/states.tsx';
import type { Column } from '../../ui/table.tsx';
import { FindForm } from './frame.tsx';
import { ACCOUNT, CREDITS, ListPage, PROVIDER, TASK } from './list-page.tsx';

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
  const isHeld = view.id === 'held';
  return (
    <ListPage
      title="Tasks"
      lead={account && `Of ${account}`}
      actions={
        <FindForm
          field={{ label: 'Task', placeholder: 'task_…' }}
          button="Open"
          onFind={(id) => id && route(`/operator/tasks/${encodeURIComponent(id)}`)}
        />
      }
      list={useList('/console/api/operator/tasks', { query: { ...view.query, account } })}
      empty={
        <Empty title={isHeld ? 'No task is held' : 'No such task'}>
          {isHeld && 'Nothing waits for a decision.'}
        </Empty>
      }
      caption="Tasks"
      columns={COLUMNS}
      keyOf={({ id }) => id}
    >
      <Views shown={view.id} account={account} />
      {isHeld && <Link href="/operator/tasks/held">Decide many at once</Link>}
    </ListPage>
  );
}

function Views({ shown, account }: { shown: string; account: string }) {
  const { route } = useLocation();
  const go = (view: string) =>
    route(`/operator/tasks?${new URLSearchParams({ view, ...(account && { account }) })}`);
  return (
    <fieldset class="flex flex-wrap gap-2">
      <legend class="sr-only">Which tasks</legend>
      {VIEWS.filter(({ id }) => id !== 'due' || account === '').map(({ id, title }) => (
        <Button
          key={id}
          small
          look={id === shown ? 'primary' : 'plain'}
          aria-pressed={id === shown}
          onClick={() => go(id)}
        >
          {title}
        </Button>
      ))}
    </fieldset>
  );
}

export function Phase({ phase, cause }: { phase: string; cause: string | null }) {
  const tone =
    phase === 'held' || phase === 'failed' ? 'bad' : phase === 'completed' ? 'good' : 'busy';
  return <Badge tone={tone}>{cause === null ? phase : `${phase}: ${cause}`}</Badge>;
}

const COLUMNS: Column<OperatorTaskRow>[] = [
  TASK,
  { title: 'Phase', cell: (task) => <Phase phase={task.phase} cause={task.held_cause} /> },
  {
    title: 'Since',
    cell: (task) => <RelativeTime at={task.held_since ?? task.due_at ?? task.updated_at} />,
  },
  PROVIDER,
  { title: 'Model', cell: ({ model }) => model },
  CREDITS,
  ACCOUNT,
];
