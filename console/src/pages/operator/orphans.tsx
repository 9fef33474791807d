import { useState } from 'preact/hooks';
import { useList } from '../../load.ts';
import type { OperatorOrphan } from '../../operator-shapes.ts';
import { Button } from '../../ui/button.tsx';
import { Switch } from '../../ui/form/controls.tsx';
import { RelativeTime } from '../../ui/format.tsx';
import { Empty } from '../../ui/states.tsx';
import { type Column, ListCard } from '../../ui/table.tsx';
import { Id, OperatorPage, Recorded } from './frame.tsx';
import { VerbDialog } from './verb-dialog.tsx';

/** Jobs at providers that no task uses: they may cost money. */
export function OrphansPage() {
  const [all, setAll] = useState(false);
  const [chosen, setChosen] = useState<OperatorOrphan>();
  const list = useList('/console/api/operator/orphans', { query: { all: all ? 'yes' : '' } });
  const columns: Column<OperatorOrphan>[] = [
    {
      title: 'Job',
      cell: ({ provider, job_id: job }) => (
        <div>
          {provider} <span class="figures block text-sm break-all text-dim">{job}</span>
        </div>
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
      cell: (orphan) =>
        orphan.acknowledged_at ? (
          <span class="text-sm text-dim">
            acknowledged <RelativeTime at={orphan.acknowledged_at} />
          </span>
        ) : (
          <Button
            small
            aria-label={`Acknowledge ${orphan.job_id}`}
            onClick={() => setChosen(orphan)}
          >
            Acknowledge
          </Button>
        ),
    },
  ];
  return (
    <OperatorPage
      title="Orphan jobs"
      lead="Jobs at a provider that no task uses. You may be charged for them."
    >
      <Switch label="Show acknowledged ones too" checked={all} onChange={setAll} />
      <ListCard
        list={list}
        empty={<Empty title="No orphan job">Every job that is known belongs to a task.</Empty>}
        caption="Orphan jobs"
        columns={columns}
        keyOf={({ provider, job_id: job }) => `${provider}/${job}`}
      />
      {chosen && (
        <VerbDialog
          change={{
            verb: 'orphans acknowledge',
            given: { provider: chosen.provider, job_id: chosen.job_id },
          }}
          onClose={() => setChosen(undefined)}
          onDone={() => void list.reload()}
        />
      )}
    </OperatorPage>
  );
}
