import type { ComponentChildren, ComponentProps } from 'preact';
import type { LoadedList } from '../load.ts';
import { Button } from './button.tsx';
import { Card } from './card.tsx';
import { Load, Skeleton } from './states.tsx';

const CELLS = {
  text: 'text-left',
  number: 'text-right figures',
  mono: 'text-left figures',
  prose: 'text-left md:min-w-28 [overflow-wrap:anywhere]',
} as const;

type Kind = keyof typeof CELLS;

export interface Column<Row> {
  title: string;
  cell: (row: Row) => ComponentChildren;
  kind: Kind;
}

function columnOf(kind: Kind) {
  return <Row,>(title: string, cell: Column<Row>['cell']): Column<Row> => ({ title, cell, kind });
}

/** A column without a title has buttons. */
export const column = columnOf('text');
export const mono = columnOf('mono');
export const numbers = columnOf('number');
/** Text that people wrote: words longer than the column are broken. */
export const prose = columnOf('prose');

interface TableProps<Row extends object> {
  caption: string;
  columns: Column<Row>[];
  rows: Row[];
  /** A row's key: by default its `id`, or the whole row as JSON. */
  keyOf?: (row: Row) => string | number;
}

const idOf = (row: object) => ('id' in row ? String(row.id) : JSON.stringify(row));

/** Whether ids and texts would be too narrow on a tablet. */
function isWide(columns: Pick<Column<never>, 'kind'>[]): boolean {
  return columns.filter(({ kind }) => kind !== 'number').length > 4;
}

/**
 * Rows and columns; on a phone each row becomes a block. ARIA roles are explicit, because browsers
 * drop them from a table that is not displayed as one. Renders nothing without rows.
 */
export function Table<Row extends object>({
  caption,
  columns,
  rows,
  keyOf = idOf,
}: TableProps<Row>) {
  if (rows.length === 0) return null;
  return (
    <table
      role="table"
      class={`w-full border-collapse text-base ${isWide(columns) ? 'max-lg:stacking' : 'max-md:stacking'}`}
    >
      <caption class="sr-only">{caption}</caption>
      <thead role="rowgroup">
        <tr role="row">
          {columns.map(({ title, kind }) => (
            <th
              key={title}
              role="columnheader"
              scope="col"
              class={`pr-5 pb-2.5 text-sm font-medium text-dim last:pr-0 ${kind === 'number' ? 'text-right' : 'text-left'}`}
            >
              {title === '' ? <span class="sr-only">Actions</span> : title}
            </th>
          ))}
        </tr>
      </thead>
      <tbody role="rowgroup">
        {rows.map((row) => (
          <tr key={keyOf(row)} role="row">
            {columns.map(({ title, cell, kind }) => (
              <td
                key={title}
                role="cell"
                data-title={title}
                class={`border-t border-line py-2.5 pr-5 align-baseline last:pr-0 ${CELLS[kind]}`}
              >
                {cell(row)}
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

type TableCardProps<Row extends object> = Omit<TableProps<Row>, 'caption'> & {
  title: string;
  note?: string;
  caption?: string;
};

export function TableCard<Row extends object>(props: TableCardProps<Row>) {
  const { title, note, caption = title, ...table } = props;
  if (table.rows.length === 0) return null;
  return (
    <Card title={title} note={note}>
      <Table caption={caption} {...table} />
    </Card>
  );
}

export function More({ list }: { list: ShownList<unknown> }) {
  if (!list.hasMore) return null;
  return (
    <div class="mt-6">
      <Button busy={list.isLoading} onClick={() => void list.more?.()}>
        Show more
      </Button>
    </div>
  );
}

/** A list loaded page by page or at once. */
type ShownList<Row> = Pick<LoadedList<Row>, 'items' | 'error' | 'isLoading' | 'reload'> &
  Partial<Pick<LoadedList<Row>, 'hasMore' | 'more' | 'address'>>;

interface ListTableProps<Row extends object> extends Omit<TableProps<Row>, 'rows'> {
  list: ShownList<Row>;
  empty: ComponentChildren;
  /** How many lines the skeleton has. */
  lines?: number;
}

export function ListTable<Row extends object>({
  list,
  empty,
  lines = 5,
  ...table
}: ListTableProps<Row>) {
  return (
    <Load from={{ ...list, data: list.items }} skeleton={<Skeleton lines={lines} />}>
      {(rows) =>
        rows.length === 0 ? (
          empty
        ) : (
          <>
            <Table {...table} rows={rows} />
            <More list={list} />
          </>
        )
      }
    </Load>
  );
}

export interface ListProps<Row extends object> extends ListTableProps<Row> {
  card?: Omit<ComponentProps<typeof Card>, 'children'>;
}

/** {@link ListTable} in a card, which is left out while there are no rows. */
export function ListCard<Row extends object>({ card, ...table }: ListProps<Row>) {
  const { items } = table.list;
  const shown = <ListTable {...table} />;
  return items === undefined || items.length === 0 ? shown : <Card {...card}>{shown}</Card>;
}

export function Cell({ children, below }: Record<'children' | 'below', ComponentChildren>) {
  return (
    <div>
      {children}
      {below && <span class="block text-sm text-dim">{below}</span>}
    </div>
  );
}

/** A row's buttons. Screen readers announce each with the row's name. */
export function RowButtons({ row, on }: { row: string; on: Record<string, () => unknown> }) {
  return (
    <div class="flex gap-1.5 md:justify-end">
      {Object.entries(on).map(([word, act]) => (
        <Button key={word} small aria-label={`${word} ${row}`} onClick={() => void act()}>
          {word}
        </Button>
      ))}
    </div>
  );
}
