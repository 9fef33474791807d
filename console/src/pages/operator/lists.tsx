import { useLocation } from 'preact-iso';
import { useEvery, useList, useLoad } from '../../load.ts';
import type { Item } from '../../site-api.ts';
import { Badge } from '../../ui/badge.tsx';
import { Button } from '../../ui/button.tsx';
import { Dialog, openDialog, useClose } from '../../ui/dialog.tsx';
import { Credits, DateTime, formatNumber, RelativeTime } from '../../ui/format.tsx';
import { Empty } from '../../ui/states.tsx';
import { Cell, type Column, column, numbers, prose } from '../../ui/table.tsx';
import { AskButton, FindForm, Id, ListPage, Recorded } from './frame.tsx';
import { type Change, VERBS } from './verb-dialog.tsx';

type AccountRow = Item<'GET /console/api/operator/verbs/accounts/list'>;

/** Accounts, newest first; `?find=` filters by text in the address. */
export function AccountsPage() {
  const { query, route } = useLocation();
  const find = query.find ?? '';
  const show = (text: string) =>
    route(`/operator/accounts${text && `?${new URLSearchParams({ find: text })}`}`);
  return (
    <ListPage
      title="Accounts"
      actions={
        <FindForm
          field={{ label: 'Part of an address, or an id', type: 'search' }}
          initial={find}
          button="Find"
          onFind={show}
        />
      }
      list={useList('/console/api/operator/verbs/accounts/list', { query: { find } })}
      empty={<Empty title="No such account">Look for a part of the e-mail address.</Empty>}
      columns={ACCOUNTS}
      keyOf={(account) => account.account_id}
    />
  );
}

export function AccountState({
  account,
}: Record<'account', Pick<AccountRow, 'erased_at' | 'disabled_at'>>) {
  if (account.erased_at) return <Badge>erased</Badge>;
  if (account.disabled_at) return <Badge tone="bad">disabled</Badge>;
  return <Badge tone="good">active</Badge>;
}

const ACCOUNTS: Column<AccountRow>[] = [
  prose('Account', ({ account_id: id, email }) => (
    <Cell below={<span class="figures">{id}</span>}>
      <Id href={`/operator/accounts/${id}`} id={email} />
    </Cell>
  )),
  numbers('Paid credits', ({ available }) => <Credits value={available.paid} />),
  numbers('Promotional credits', ({ available }) => <Credits value={available.promotional} />),
  column('Created', (account) => <RelativeTime at={account.created_at} />),
  column('State', (account) => <AccountState account={account} />),
];

type ActionRow = Item<'GET /console/api/operator/verbs/actions/list'>;

/** Operators' changes, made here or by commands; `?target=` filters by id. */
export function ActionsPage() {
  const { target = '' } = useLocation().query;
  return (
    <ListPage
      title="Actions"
      lead={target ? `What operators changed about ${target}` : 'What operators changed, and why.'}
      list={useList('/console/api/operator/verbs/actions/list', { query: { target } })}
      empty={<Empty title="Nothing was changed yet" />}
      {...ACTIONS}
    />
  );
}

const ACTION_COLUMNS: Column<ActionRow>[] = [
  column('Time', ({ at }) => <DateTime at={at} />),
  prose('Who', ({ actor }) => actor),
  column('Command', ({ command }) => command),
  column('Target', ({ target }) => <Target target={target} />),
  prose('Reason', ({ reason }) => reason ?? <Recorded value={null} />),
  column('Details', ({ details }) => <Recorded value={details} />),
];

export const ACTIONS = { caption: 'Actions', columns: ACTION_COLUMNS };

function Target({ target }: { target: string }) {
  if (target.startsWith('task_')) return <Id href={`/operator/tasks/${target}`} id={target} />;
  if (target.startsWith('acct_')) return <Id href={`/operator/accounts/${target}`} id={target} />;
  if (target.startsWith('report_')) return <Id href={`/operator/reports/${target}`} id={target} />;
  return <span class="figures break-all">{target}</span>;
}

type Audit = Item<'GET /console/api/operator/audits'>;

const REFRESH_MS = 2000;

/** Background audits, and the latest findings. */
export function AuditPage() {
  const list = useList('/console/api/operator/audits');
  const isRunning = list.items?.[0]?.ended_at === null;
  useEvery(isRunning ? REFRESH_MS : undefined, list.reload);
  return (
    <ListPage
      title="Audit"
      lead="Proves that balances, tasks, attempts, files and orders agree. It reads everything while the service runs."
      actions={
        <AskButton
          look="primary"
          disabled={isRunning}
          change={{ verb: 'audit', given: { storage: false } }}
        >
          {isRunning ? 'An audit is running' : 'Run an audit'}
        </AskButton>
      }
      list={list}
      empty={
        <Empty title="No audit was started here yet">
          Run one after a restore, and from time to time.
        </Empty>
      }
      columns={AUDITS}
    />
  );
}

function AuditResult({ run: { ended_at, found } }: { run: Audit }) {
  if (ended_at === null) return <Badge tone="busy">running</Badge>;
  if (found === null) return <Badge tone="bad">not finished</Badge>;
  if (found === 0) return <Badge tone="good">everything agrees</Badge>;
  return <Badge tone="bad">{`${formatNumber(found)} contradictions`}</Badge>;
}

const AUDITS: Column<Audit>[] = [
  column('Started', (run) => <DateTime at={run.started_at} />),
  prose('By', ({ actor }) => actor),
  column('Result', (run) => <AuditResult run={run} />),
  prose('Problems', ({ failure, problems }) => (
    <div>
      {failure}
      {problems?.map((problem) => (
        <p key={problem}>{problem}</p>
      ))}
    </div>
  )),
];

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
      columns={COMMANDS}
      keyOf={({ name }) => name}
      onDone={(result) => openDialog(<CommandResult result={result} />)}
    />
  );
}

function CommandResult({ result }: { result: object }) {
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

const COMMANDS: Column<{ name: Change['verb']; summary: string }>[] = [
  column('Command', ({ name }) => <span class="font-medium">{name}</span>),
  prose('What it does', ({ summary }) => summary),
  column('', ({ name }) => (
    <AskButton small item={name} change={{ verb: name }}>
      Run
    </AskButton>
  )),
];
