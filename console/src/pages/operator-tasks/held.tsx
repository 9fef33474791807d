import { useState } from 'preact/hooks';
import { useLoad } from '../../load.ts';
import type { OperatorHeld } from '../../operator-shapes.ts';
import { Button } from '../../ui/button.tsx';
import { Card } from '../../ui/card.tsx';
import { Segments, Select } from '../../ui/form/controls.tsx';
import { Field } from '../../ui/form/field.tsx';
import { RelativeTime } from '../../ui/format.tsx';
import { Empty } from '../../ui/states.tsx';
import type { Column } from '../../ui/table.tsx';
import { ACCOUNT, CREDITS, ListPage, PROVIDER, TASK } from '../operator/list-page.tsx';
import { VerbDialog } from '../operator-verbs/verb-dialog.tsx';

const ALL = { provider: '', account: '', held_hours: '', cause: '' };

/** Held tasks of a filter, and one decision for all that are shown. */
export function HeldPage() {
  const [filter, setFilter] = useState(ALL);
  const { data, ...loaded } = useLoad('/console/api/operator/held', { query: filter });
  // What the dialog opened with: a list that is read again is not what was shown.
  const [deciding, setDeciding] = useState<OperatorHeld>();
  const [left, setLeft] = useState<string[]>([]);
  return (
    <ListPage
      title="Decide held tasks"
      lead="One decision for all tasks of the list."
      list={{ ...loaded, items: data?.tasks }}
      empty={<Empty title="No held task fits" />}
      card={{
        title: `Held tasks: ${data?.tasks.length}`,
        actions: <Button onClick={() => setDeciding(data)}>Decide all of these</Button>,
      }}
      caption="Held tasks"
      columns={COLUMNS}
      keyOf={({ id }) => id}
    >
      <Filter onFind={setFilter} />
      {left.length > 0 && <Left reasons={left} />}
      {deciding && (
        <DecideAll
          filter={filter}
          held={deciding}
          onClose={() => {
            setDeciding(undefined);
            void loaded.reload();
          }}
          onDone={setLeft}
        />
      )}
    </ListPage>
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
      <Field label="Provider" value={filter.provider} onChange={(provider) => set({ provider })} />
      <Field
        label="Account or e-mail"
        value={filter.account}
        onChange={(account) => set({ account })}
      />
      <Field
        label="Held for hours"
        inputMode="numeric"
        pattern="\d{1,6}"
        value={filter.held_hours}
        onChange={(held_hours) => set({ held_hours })}
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
  held: { tasks, confirm },
  onClose,
  onDone,
}: {
  filter: typeof ALL;
  held: OperatorHeld;
  onClose: () => void;
  onDone: (left: string[]) => void;
}) {
  const [decision, setDecision] = useState('not_accepted');
  const given = Object.fromEntries(Object.entries(filter).filter(([, value]) => value));
  return (
    <VerbDialog
      change={{
        verb: 'tasks reconcile',
        given: { ...given, [decision]: true, confirm },
        title: tasks.length === 1 ? 'Decide a held task' : `Decide ${tasks.length} held tasks`,
      }}
      onClose={onClose}
      onDone={(result) => onDone((result as { left: string[] }).left)}
    >
      <Segments label="What you know" value={decision} choices={DECISIONS} onChange={setDecision} />
    </VerbDialog>
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

const COLUMNS: Column<OperatorHeld['tasks'][number]>[] = [
  TASK,
  { title: 'Cause', cell: (task) => task.held_cause },
  { title: 'Since', cell: (task) => <RelativeTime at={task.held_since} /> },
  PROVIDER,
  CREDITS,
  ACCOUNT,
];
