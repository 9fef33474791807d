import { type ComponentChildren, createContext } from 'preact';
import { useContext, useState } from 'preact/hooks';
import { useLocation } from 'preact-iso';
import { isMissing, type Loaded } from '../../load.ts';
import { TestMark } from '../../ui/badge.tsx';
import { Button, ButtonLink } from '../../ui/button.tsx';
import { openDialog } from '../../ui/dialog.tsx';
import { Field } from '../../ui/form/field.tsx';
import { submitting } from '../../ui/form/sending.tsx';
import { Credits } from '../../ui/format.tsx';
import { Page } from '../../ui/page.tsx';
import { Load, Skeleton } from '../../ui/states.tsx';
import { type Column, column, ListCard, type ListProps, numbers, prose } from '../../ui/table.tsx';
import { NotFound } from '../not-found/not-found.tsx';
import { countAt, type Decision, useDecisions } from './decisions.tsx';
import { type Change, VerbDialog } from './verb-dialog.tsx';

const PAGES = [
  ['/operator', 'Overview'],
  ['/operator/tasks', 'Tasks'],
  ['/operator/reviews', 'Reviews'],
  ['/operator/reports', 'Reports'],
  ['/operator/providers', 'Providers'],
  ['/operator/accounts', 'Accounts'],
  ['/operator/orders', 'Orders'],
  ['/operator/orphans', 'Orphan jobs'],
  ['/operator/set-up', 'Set-up'],
  ['/operator/audit', 'Audit'],
  ['/operator/actions', 'Actions'],
  ['/operator/brand', 'Brand'],
  ['/operator/commands', 'Commands'],
] as const;

const AfterChange = createContext<(result: object) => unknown>(() => {});

interface OperatorPageProps {
  title: string;
  lead?: ComponentChildren;
  actions?: ComponentChildren;
  /** Called after a change made on this page. */
  onDone?: ((result: object) => unknown) | undefined;
  children?: ComponentChildren;
}

export function OperatorPage({ onDone = () => {}, ...page }: OperatorPageProps) {
  const decisions = useDecisions();
  const reload = (result: object) => Promise.all([onDone(result), decisions.reload()]);
  return (
    <AfterChange.Provider value={reload}>
      <Page {...page} above={<OperatorNavigation decisions={decisions.data?.items} />} />
    </AfterChange.Provider>
  );
}

interface AskButtonProps {
  change: Change | (() => Change);
  /** What it acts on, for screen readers: tells apart buttons with the same word. */
  item?: string;
  look?: 'primary';
  small?: boolean;
  disabled?: boolean;
  children: string;
}

/** A button that opens the dialog of a verb. */
export function AskButton({ change, item, children, ...look }: AskButtonProps) {
  const onDone = useContext(AfterChange);
  const ask = () =>
    openDialog(
      <VerbDialog change={typeof change === 'function' ? change() : change} onDone={onDone} />,
    );
  return (
    <Button {...look} aria-label={item && `${children} ${item}`} onClick={ask}>
      {children}
    </Button>
  );
}

function OperatorNavigation({ decisions }: { decisions: Decision[] | undefined }) {
  const { path } = useLocation();
  const isCurrent = (href: string) =>
    path === href || (href !== '/operator' && path.startsWith(`${href}/`));
  return (
    <nav aria-label="Operator" class="-mt-4 mb-8 grid gap-4 sm:-mt-8">
      <Search />
      <ul class="flex flex-wrap gap-x-6 gap-y-1 border-b border-line pb-3">
        {PAGES.map(([href, name]) => (
          <li key={href}>
            <a
              href={href}
              aria-current={isCurrent(href) ? 'page' : undefined}
              class="inline-block border-b-2 border-transparent py-1 text-dim hover:text-ink aria-[current=page]:border-tungsten aria-[current=page]:text-ink"
            >
              {name}
              <Count of={countAt(decisions, href)} />
            </a>
          </li>
        ))}
      </ul>
    </nav>
  );
}

/** Customers quote ids of many kinds: one field finds them all. */
function Search() {
  const { query, route, path } = useLocation();
  const initial = path === FIND ? (query.text ?? '') : '';
  const find = (text: string) => text && route(`${FIND}?text=${encodeURIComponent(text)}`);
  const field = { label: 'Find', type: 'search', placeholder: 'any id, e-mail or key' } as const;
  return <FindForm key={initial} field={field} initial={initial} button="Find" onFind={find} />;
}

const FIND = '/operator/find';

function Count({ of }: { of: number }) {
  if (of === 0) return null;
  return (
    <span class="figures ml-1.5 bg-tungsten px-1.5 text-sm text-on-tungsten">
      {of}
      <span class="sr-only"> waiting</span>
    </span>
  );
}

interface FindFormProps {
  field: { label: string; type?: 'search'; placeholder?: string };
  initial?: string;
  button: string;
  onFind: (text: string) => void;
}

export function FindForm({ field, initial = '', button, onFind }: FindFormProps) {
  const [text, setText] = useState(initial);
  return (
    <form class="flex items-end gap-2" onSubmit={submitting(() => onFind(text.trim()))}>
      <Field {...field} value={text} onChange={setText} />
      <Button type="submit" icon="search">
        {button}
      </Button>
    </form>
  );
}

interface RecordPageProps<Data> {
  what: 'Account' | 'Order' | 'Report' | 'Task';
  id: string;
  loaded: Loaded<Data>;
  lead?: ComponentChildren;
  buttons: (data: Data) => ComponentChildren;
  onDone?: () => unknown;
  children: (data: Data) => ComponentChildren;
  /** Shown below the record, also while it is loading. */
  below?: ComponentChildren;
}

/** The page of one item. Changes reload it. */
export function RecordPage<Data>({ what, id, loaded, ...props }: RecordPageProps<Data>) {
  const { lead = <span class="figures text-base break-all">{id}</span>, buttons } = props;
  const name = what.toLowerCase();
  if (isMissing(loaded)) {
    return (
      <NotFound
        title={`${what} not found`}
        lead={`There is no ${name} with the id ${id}.`}
        href={`/operator/${name}s`}
        action={`All ${name}s`}
      />
    );
  }
  return (
    <OperatorPage
      title={what}
      lead={lead}
      actions={loaded.data && buttons(loaded.data)}
      onDone={props.onDone ?? loaded.reload}
    >
      <Load from={loaded} skeleton={<Skeleton lines={14} />}>
        {props.children}
      </Load>
      {props.below}
    </OperatorPage>
  );
}

export function Id({ href, id }: { href: string; id: string }) {
  return (
    <a href={href} class="figures break-all underline decoration-edge underline-offset-[3px]">
      {id}
    </a>
  );
}

/** A link to a row's account: its e-mail address, or its id if erased. */
export function AccountLink({ row }: { row: { account_id: string; email: string | null } }) {
  return <Id href={`/operator/accounts/${row.account_id}`} id={row.email ?? row.account_id} />;
}

/** A duration in the largest unit that fits, such as `3 h`. */
export function duration(seconds: number): string {
  if (seconds >= 2 * 86_400) return `${Math.floor(seconds / 86_400)} d`;
  if (seconds >= 2 * 3600) return `${Math.floor(seconds / 3600)} h`;
  if (seconds >= 120) return `${Math.floor(seconds / 60)} min`;
  return `${Math.round(seconds)} s`;
}

/** A recorded value: a text, or names and values, nested ones below their name. */
export function Recorded({ value }: { value: unknown }) {
  if (value === null || value === undefined) return <span class="text-dim">–</span>;
  if (typeof value !== 'object') {
    return <span class="figures text-sm break-all">{String(value)}</span>;
  }
  if (Array.isArray(value) && value.length === 0) return <span class="text-dim">none</span>;
  return (
    <dl class="grid gap-y-1 text-sm">
      {Object.entries(value).map(([name, part]) => (
        <div key={name} class="flex flex-wrap gap-x-2">
          <dt class="text-dim">{wordsOf(name)}</dt>
          <dd class="min-w-0">
            <Recorded value={part} />
          </dd>
        </div>
      ))}
    </dl>
  );
}

/** `expiresAt` and `expires_at` become "expires at". */
function wordsOf(name: string): string {
  return name
    .replaceAll('_', ' ')
    .replace(/(?<=[a-z])[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
}

type ListPageProps<Row extends object> = OperatorPageProps &
  Omit<ListProps<Row>, 'caption'> & {
    caption?: string;
  };

/** The address of a verb's list as CSV, with its first 10 000 rows. Other lists have none. */
const withCsv = (list: string) => `${list}${list.includes('?') ? '&' : '?'}csv=yes`;

/** A page with one list and its filters. Changes reload the list. */
export function ListPage<Row extends object>(props: ListPageProps<Row>) {
  const { title, lead, actions, children, list, onDone = list.reload, ...table } = props;
  return (
    <OperatorPage title={title} lead={lead} actions={actions} onDone={onDone}>
      {children}
      <ListCard list={list} caption={title} {...table} />
      {list.address?.includes('/list') && list.items && list.items.length > 0 && (
        <p>
          <ButtonLink icon="download" href={withCsv(list.address)} download="list.csv">
            Download CSV
          </ButtonLink>
        </p>
      )}
    </OperatorPage>
  );
}

export const ACCOUNT: Column<{ account_id: string; email: string | null }> = prose(
  'Account',
  (row) => <AccountLink row={row} />,
);
export const TASK: Column<{ id: string; surface: string }> = column('Task', ({ id, surface }) => (
  <span class="inline-flex flex-wrap items-baseline gap-2">
    <Id href={`/operator/tasks/${id}`} id={id} />
    {surface === 'test' && <TestMark />}
  </span>
));
export const PROVIDER: Column<{ provider: string }> = column(
  'Provider',
  ({ provider }) => provider,
);
export const CREDITS: Column<{ credits: number }> = numbers('Credits', ({ credits }) => (
  <Credits value={credits} />
));
