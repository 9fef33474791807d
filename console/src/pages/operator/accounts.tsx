import { useLocation } from 'preact-iso';
import { useList } from '../../load.ts';
import type { Item } from '../../site-api.ts';
import { Badge } from '../../ui/badge.tsx';
import { Credits, RelativeTime } from '../../ui/format.tsx';
import { Empty } from '../../ui/states.tsx';
import { type Column, column } from '../../ui/table.tsx';
import { FindForm, Id, ListPage } from './frame.tsx';

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
          field={{ label: 'E-mail address or id', type: 'search' }}
          initial={find}
          button="Find"
          onFind={show}
        />
      }
      list={useList('/console/api/operator/verbs/accounts/list', { query: { find } })}
      empty={<Empty title="No such account">Look for a part of the e-mail address.</Empty>}
      caption="Accounts"
      columns={COLUMNS}
      keyOf={(account) => account.account_id}
    />
  );
}

/** Whether an account can be used. */
export function AccountState({
  account,
}: {
  account: Pick<AccountRow, 'erased_at' | 'disabled_at'>;
}) {
  if (account.erased_at) return <Badge>erased</Badge>;
  if (account.disabled_at) return <Badge tone="bad">disabled</Badge>;
  return <Badge tone="good">active</Badge>;
}

const COLUMNS: Column<AccountRow>[] = [
  column('E-mail address', ({ account_id: id, email }) => (
    <Id href={`/operator/accounts/${id}`} id={email} />
  )),
  column('Account ID', (account) => account.account_id, 'mono'),
  column('Paid credits', ({ available }) => <Credits value={available.paid} />, 'number'),
  column(
    'Promotional credits',
    ({ available }) => <Credits value={available.promotional} />,
    'number',
  ),
  column('Created', (account) => <RelativeTime at={account.created_at} />),
  column('State', (account) => <AccountState account={account} />),
];
