import { TestMark } from '../../ui/badge.tsx';
import { Credits } from '../../ui/format.tsx';
import { type Column, ListCard, type ListProps } from '../../ui/table.tsx';
import { AccountLink, Id, OperatorPage, type OperatorPageProps } from './frame.tsx';

/** A page that is one list; its filters are above it. A change reads the list again. */
export function ListPage<Row>({
  title,
  lead,
  actions,
  children,
  onDone = () => list.reload(),
  list,
  ...table
}: OperatorPageProps & ListProps<Row>) {
  return (
    <OperatorPage title={title} lead={lead} actions={actions} onDone={onDone}>
      {children}
      <ListCard list={list} {...table} />
    </OperatorPage>
  );
}

/** Columns of several lists. */
export const ACCOUNT: Column<{ account_id: string; email: string | null }> = {
  title: 'Account',
  kind: 'prose',
  cell: (row) => <AccountLink of={row} />,
};
export const TASK: Column<{ id: string; surface: string }> = {
  title: 'Task',
  cell: ({ id, surface }) => (
    <span class="inline-flex flex-wrap items-baseline gap-2">
      <Id href={`/operator/tasks/${id}`} id={id} />
      {surface === 'test' && <TestMark />}
    </span>
  ),
};
export const PROVIDER: Column<{ provider: string }> = {
  title: 'Provider',
  cell: ({ provider }) => provider,
};
export const CREDITS: Column<{ credits: number }> = {
  title: 'Credits',
  kind: 'number',
  cell: ({ credits }) => <Credits value={credits} />,
};
