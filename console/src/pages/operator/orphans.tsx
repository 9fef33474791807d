import { useState } from 'preact/hooks';
import { useList } from '../../load.ts';
import type { OperatorOrphan } from '../../operator-shapes.ts';
import { Switch } from '../../ui/form/controls.tsx';
import { RelativeTime } from '../../ui/format.tsx';
import { Empty } from '../../ui/states.tsx';
import { Cell, type Column } from '../../ui/table.tsx';
import { AskButton, Id, Recorded } from './frame.tsx';
import { ListPage } from './list-page.tsx';

/** Jobs at providers that no task uses: they may cost money. */
export function OrphansPage() {
  const [all, setAll] = useState(false);
  return (
    <ListPage
      title="Orphan jobs"
      lead="Jobs at a provider that no task uses. You may be charged for them."
      list={useList('/console/api/operator/orphans', { query: { all: all ? 'yes' : '' } })}
      empty={<Empty title="No orphan job">Every job that is known belongs to a task.</Empty>}
      caption="Orphan jobs"
      columns={COLUMNS}
      keyOf={({ provider, job_id: job }) => `${provider}/${job}`}
    >
      <Switch label="Show acknowledged ones too" checked={all} onChange={setAll} />
    </ListPage>
  );
}

const COLUMNS: Column<OperatorOrphan>[] = [
  {
    title: 'Job',
    cell: ({ provider, job_id: job }) => (
      <Cell below={<span class="figures break-all">{job}</span>}>{provider} </Cell>
    ),
  },
  { title: 'State', cell: ({ state }) => state },
  { title: 'Found', cell: (orphan) => <RelativeTime at={orphan.found_at} /> },
  {
    title: 'Task',
    cell: ({ task_id: task }) => <Id href={`/operator/tasks/${task}`} id={task} />,
  },
  { title: 'The provider says', cell: ({ status }) => <Recorded value={status} /> },
  {
    title: '',
    cell: ({ provider, job_id, acknowledged_at: at }) =>
      at ? (
        <span class="text-sm text-dim">
          acknowledged <RelativeTime at={at} />
        </span>
      ) : (
        <AskButton
          small
          of={job_id}
          change={{ verb: 'orphans acknowledge', given: { provider, job_id } }}
        >
          Acknowledge
        </AskButton>
      ),
  },
];
