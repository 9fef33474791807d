import { useState } from 'preact/hooks';
import { useLoad } from '../../load.ts';
import type { OperatorHeld } from '../../operator-shapes.ts';
import { Button } from '../../ui/button.tsx';
import { Card } from '../../ui/card.tsx';
import { Segments, Select } from '../../ui/form/controls.tsx';
import { Field } from '../../ui/form/field.tsx';
import { Credits, RelativeTime } from '../../ui/format.tsx';
import { Empty, Load } from '../../ui/states.tsx';
import { type Column, Table } from '../../ui/table.tsx';
import { AccountLink, Id, OperatorPage } from '../operator/frame.tsx';
import { VerbDialog } from '../operator/verb-dialog.tsx';

type HeldTask = OperatorHeld['tasks'][number];

const ALL = { provider: '', account: '', held_hours: '', cause: '' };

/** Held tasks of a filter, and one decision for all that are shown. */
export function HeldPage() {
  const [filter, setFilter] = useState(ALL);
  const loaded = useLoad('/console/api/operator/held', { query: filter });
  const [isDeciding, setDeciding] = useState(false);
  const [left, setLeft] = useState<string[]>([]);
  return (
    <OperatorPage title="Decide held tasks" lead="One decision for all tasks of the list.">
      <Filter onFind={setFilter} />
      {left.length > 0 && <Left reasons={left} />}
      <Load from={loaded}>
        {({ tasks }) =>
          tasks.length === 0 ? (
            <Empty title="No held task fits" />
          ) : (
            <Card
              title={`Held tasks: ${tasks.length}`}
              actions={<Button onClick={() => setDeciding(true)}>Decide all of these</Button>}
            >
              <Table caption="Held tasks" columns={COLUMNS} rows={tasks} keyOf={({ id }) => id} />
            </Card>
          )
        }
      </Load>
      {isDeciding && loaded.data && (
        <DecideAll
          filter={filter}
          held={loaded.data}
          onClose={() => {
            setDeciding(false);
            void loaded.reload();
          }}
          onDone={setLeft}
        />
      )}
    </OperatorPage>
  );
}

function Filter({ onFind }: { onFind: (filter: typeof ALL) => void }) {
  const [filter, setFilter] = useState(ALL);
  const set = (change: Partial<typeof ALL>) => setFilter((before) => ({ ...before, ...change }));
  return (
    <form
      class="flex flex-wrap items-end gap-3"
      onSubmit={(event) => {
        event.preventDefault();
        onFind({ ...filter, provider: filter.provider.trim(), account: filter.account.trim() });
      }}
    >
      <Field
        label="Provider"
        value={filter.provider}
        onInput={(event) => set({ provider: event.currentTarget.value })}
      />
      <Field
        label="Account or e-mail"
        value={filter.account}
        onInput={(event) => set({ account: event.currentTarget.value })}
      />
      <Field
        label="Held for hours"
        inputMode="numeric"
        pattern="\d{1,6}"
        value={filter.held_hours}
        onInput={(event) => set({ held_hours: event.currentTarget.value })}
      />
      <Select
        label="Cause"
        value={filter.cause}
        choices={CAUSES}
        onChange={(cause) => set({ cause })}
      />
      <Button type="submit" icon="search">
        Show
      </Button>
    </form>
  );
}

const CAUSES = [
  { value: '', label: 'Any' },
  { value: 'acceptance', label: 'acceptance' },
  { value: 'outcome', label: 'outcome' },
];

const DECISIONS = [
  { value: 'not_accepted', label: 'There is certainly no job' },
  { value: 'failed', label: 'End them with a refund' },
];

function DecideAll({
  filter,
  held,
  onClose,
  onDone,
}: {
  filter: typeof ALL;
  held: OperatorHeld;
  onClose: () => void;
  onDone: (left: string[]) => void;
}) {
  // What the dialog opened with: a list that is read again is not what was shown.
  const [{ tasks, confirm }] = useState(held);
  const [decision, setDecision] = useState('not_accepted');
  const given = Object.fromEntries(Object.entries(filter).filter(([, value]) => value));
  return (
    <VerbDialog
      change={{
        verb: 'tasks reconcile',
        given: { ...given, [decision]: true, confirm },
        title: tasks.length === 1 ? 'Decide a held task' : `Decide ${tasks.length} held tasks`,
      }}
      controls={
        <Segments
          label="What you know"
          value={decision}
          choices={DECISIONS}
          onChange={setDecision}
        />
      }
      onClose={onClose}
      onDone={(result) => onDone((result as { left: string[] }).left)}
    />
  );
}

function Left({ reasons }: { reasons: string[] }) {
  return (
    <Card title="Not decided">
      <ul class="grid gap-1 break-words" role="status">
        {reasons.map((reason) => (
          <li key={reason}>{reason}</li>
        ))}
      </ul>
    </Card>
  );
}

const COLUMNS: Column<HeldTask>[] = [
  { title: 'Task', cell: ({ id }) => <Id href={`/operator/tasks/${id}`} id={id} /> },
  { title: 'Cause', cell: (task) => task.held_cause },
  { title: 'Since', cell: (task) => <RelativeTime at={task.held_since} /> },
  { title: 'Provider', cell: ({ provider }) => provider },
  { title: 'Credits', kind: 'number', cell: ({ credits }) => <Credits value={credits} /> },
  {
    title: 'Account',
    kind: 'prose',
    cell: (task) => <AccountLink of={task} />,
  },
];
