import { useLayoutEffect, useState } from 'preact/hooks';
import { useLocation } from 'preact-iso';
import { useList, useLoad } from '../../load.ts';
import type { Item, Result } from '../../site-api.ts';
import { Badge } from '../../ui/badge.tsx';
import { Button, Link } from '../../ui/button.tsx';
import { Card } from '../../ui/card.tsx';
import { openDialog } from '../../ui/dialog.tsx';
import { Select } from '../../ui/form/controls.tsx';
import { binding, Field } from '../../ui/form/field.tsx';
import { submitting } from '../../ui/form/sending.tsx';
import { RelativeTime } from '../../ui/format.tsx';
import { Empty } from '../../ui/states.tsx';
import { type Column, column } from '../../ui/table.tsx';
import { ACCOUNT, CREDITS, ListPage, PROVIDER, TASK } from './frame.tsx';
import { VerbDialog } from './verb-dialog.tsx';

type Held = Result<'GET /console/api/operator/held'>;
type TaskRow = Item<'GET /console/api/operator/verbs/tasks/list'>;

const HELD = { id: 'held', title: 'Held', query: { phase: 'held' } } as const;
const ALL_TASKS = { id: 'all', title: 'All', query: {} } as const;
const VIEWS = [
  HELD,
  { id: 'due', title: 'Due', query: { due: 'yes' } },
  { id: 'generating', title: 'Generating', query: { phase: 'generating' } },
  { id: 'failed', title: 'Failed', query: { phase: 'failed' } },
  ALL_TASKS,
] as const;

/** Tasks, held ones first; `?account=` filters by account. */
export function TasksPage() {
  const { query } = useLocation();
  const account = query.account ?? '';
  const byDefault = account === '' ? HELD : ALL_TASKS;
  const view = VIEWS.find(({ id }) => id === query.view) ?? byDefault;
  const isHeld = view.id === 'held';
  return (
    <ListPage
      title="Tasks"
      lead={account && `Tasks of ${account}`}
      list={useList('/console/api/operator/verbs/tasks/list', {
        query: { ...view.query, account },
      })}
      empty={
        <Empty title={isHeld ? 'No task is held' : 'No such task'}>
          {isHeld && 'Nothing waits for a decision.'}
        </Empty>
      }
      columns={TASKS}
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

const TASKS: Column<TaskRow>[] = [
  TASK,
  column('Phase', (task) => <Phase phase={task.phase} cause={task.held_cause} />),
  column('Since', (task) => (
    <RelativeTime at={task.held_since ?? task.due_at ?? task.updated_at} />
  )),
  PROVIDER,
  column('Model', ({ model }) => model),
  CREDITS,
  ACCOUNT,
];

const NO_FILTER = { provider: '', account: '', held_hours: '', cause: '' };

/** Held tasks by filter, and one decision for all those shown. */
export function HeldPage() {
  const [filter, setFilter] = useState(NO_FILTER);
  const { data, ...loaded } = useLoad('/console/api/operator/held', { query: filter });
  const [notDecided, setNotDecided] = useState<string[]>([]);
  // The dialog keeps the tasks shown when it opened, even if the list is reloaded.
  const decide = (held: Held) =>
    openDialog(
      <DecideAll filter={filter} held={held} reload={loaded.reload} onDone={setNotDecided} />,
    );
  return (
    <ListPage
      title="Decide held tasks"
      lead="One decision for all tasks of the list."
      list={{ ...loaded, items: data?.tasks }}
      empty={<Empty title="No held task matches" />}
      card={{
        title: `Held tasks: ${data?.tasks.length}`,
        actions: <Button onClick={() => data && decide(data)}>Decide all of these</Button>,
      }}
      caption="Held tasks"
      columns={HELD_TASKS}
    >
      <Filter onFind={setFilter} />
      {notDecided.length > 0 && (
        <Card title="Not decided">
          <ul class="grid gap-1 break-words" role="status">
            {notDecided.map((reason) => (
              <li key={reason}>{reason}</li>
            ))}
          </ul>
        </Card>
      )}
    </ListPage>
  );
}

function Filter({ onFind }: { onFind: (filter: typeof NO_FILTER) => void }) {
  const [filter, setFilter] = useState(NO_FILTER);
  const field = binding(filter, (change) => setFilter((before) => ({ ...before, ...change })));
  return (
    <form
      class="flex flex-wrap items-end gap-3"
      onSubmit={submitting(() =>
        onFind({ ...filter, provider: filter.provider.trim(), account: filter.account.trim() }),
      )}
    >
      <Field label="Provider" {...field('provider')} />
      <Field label="Account or e-mail" {...field('account')} />
      <Field
        label="Hours held, at least"
        inputMode="numeric"
        pattern="\d{1,6}"
        {...field('held_hours')}
      />
      <Select label="Cause" choices={CAUSES} {...field('cause')} />
      <Button type="submit" icon="search">
        Show
      </Button>
    </form>
  );
}

const CAUSES = { '': 'Any', acceptance: 'acceptance', outcome: 'outcome' };

const DECISIONS = [
  { field: 'not_accepted', words: 'There is certainly no job' },
  { field: 'failed', words: 'End them with a refund' },
];

interface DecideProps {
  filter: typeof NO_FILTER;
  held: Held;
  reload: () => Promise<void>;
  onDone: (notDecided: string[]) => void;
}

function DecideAll({ filter, held: { tasks, confirm }, reload, onDone }: DecideProps) {
  useLayoutEffect(() => () => void reload(), []); // at the close, even after a refusal
  const given = Object.fromEntries(Object.entries(filter).filter(([, value]) => value));
  return (
    <VerbDialog
      change={{
        verb: 'tasks reconcile',
        given: { ...given, confirm },
        initial: { chosen: 'not_accepted' },
        title: tasks.length === 1 ? 'Decide a held task' : `Decide ${tasks.length} held tasks`,
        choices: DECISIONS,
      }}
      onDone={(result) => onDone((result as { left: string[] }).left)}
    />
  );
}

const HELD_TASKS: Column<Held['tasks'][number]>[] = [
  TASK,
  column('Cause', (task) => task.held_cause),
  column('Since', (task) => <RelativeTime at={task.held_since} />),
  PROVIDER,
  CREDITS,
  ACCOUNT,
];
