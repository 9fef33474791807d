import { useLoad } from '../../load.ts';
import { Button } from '../../ui/button.tsx';
import { Dialog, openDialog, useClose } from '../../ui/dialog.tsx';
import { Empty } from '../../ui/states.tsx';
import { type Column, column } from '../../ui/table.tsx';
import { AskButton, ListPage, Recorded } from './frame.tsx';
import { type Change, VERBS } from './verb-dialog.tsx';

/** Every command of the console, including those that no other page offers. */
export function CommandsPage() {
  const { data, ...loaded } = useLoad(VERBS);
  const items =
    data &&
    Object.entries(data).map(([name, { summary }]) => ({ name: name as Change['verb'], summary }));
  return (
    <ListPage
      title="Commands"
      lead="What the command framewright can do, except what is only for those who run the servers."
      list={{ ...loaded, items }}
      empty={<Empty title="No command" />}
      caption="Commands"
      columns={COLUMNS}
      keyOf={({ name }) => name}
      onDone={(result) => openDialog(<Result result={result} />)}
    />
  );
}

function Result({ result }: { result: object }) {
  const close = useClose();
  return (
    <Dialog title="Result">
      <Recorded value={result} />
      <div class="mt-6 flex justify-end">
        <Button onClick={close}>Done</Button>
      </div>
    </Dialog>
  );
}

const COLUMNS: Column<{ name: Change['verb']; summary: string }>[] = [
  column('Command', ({ name }) => <span class="font-medium">{name}</span>),
  column('What it does', ({ summary }) => summary, 'prose'),
  column('', ({ name }) => (
    <AskButton small of={name} change={{ verb: name }}>
      Run
    </AskButton>
  )),
];
