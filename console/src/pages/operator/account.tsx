import { useList, useLoad } from '../../load.ts';
import type { Item, Result } from '../../site-api.ts';
import { Badge, TestMark } from '../../ui/badge.tsx';
import { Link } from '../../ui/button.tsx';
import { Card, Facts, Figure } from '../../ui/card.tsx';
import { Credits, DateTime, formatNumber, RelativeTime } from '../../ui/format.tsx';
import { Empty } from '../../ui/states.tsx';
import {
  Cell,
  type Column,
  column,
  ListCard,
  mono,
  numbers,
  prose,
  Table,
  TableCard,
} from '../../ui/table.tsx';
import { AskButton, Id, RecordPage } from './frame.tsx';
import { ACTIONS, AccountState } from './lists.tsx';
import type { Change } from './verb-dialog.tsx';

type Account = Result<'GET /console/api/operator/accounts/:id'>;
type Movement = Item<'GET /console/api/operator/accounts/:id/statement'>;

export function AccountPage({ id }: { id: string }) {
  const loaded = useLoad('/console/api/operator/accounts/:id', { params: { id } });
  const statement = useList('/console/api/operator/accounts/:id/statement', { params: { id } });
  return (
    <RecordPage
      what="Account"
      id={id}
      loaded={loaded}
      lead={loaded.data?.email ?? ''}
      buttons={(account) => <Buttons account={account} />}
      onDone={() => Promise.all([loaded.reload(), statement.reload()])}
      below={
        <ListCard
          card={{ title: 'Statement', note: 'Every transfer of credits, the newest first.' }}
          list={statement}
          empty={<Empty title="No transfer of credits yet" />}
          caption="Transfers"
          columns={MOVEMENTS}
        />
      }
    >
      {(account) => <Details account={account} />}
    </RecordPage>
  );
}

/** A change of credits. The dialog gets a reference, so that a resend is booked only once. */
function movementOf(verb: 'credits grant' | 'credits adjust', account: string): Change {
  const reference = `console-${crypto.randomUUID().slice(0, 8)}`;
  return { verb, given: { account }, initial: { reference } };
}

function Buttons({ account }: { account: Account }) {
  const { account_id: id, disabled_at: disabledAt, erased_at: erasedAt } = account;
  const given = { account: id };
  return (
    <>
      <AskButton look="primary" change={() => movementOf('credits grant', id)}>
        Grant credits
      </AskButton>
      <AskButton change={() => movementOf('credits adjust', id)}>Adjust</AskButton>
      {account.paused_until && (
        <AskButton change={{ verb: 'accounts resume', given }}>Resume</AskButton>
      )}
      {disabledAt === null && !erasedAt && (
        <AskButton change={{ verb: 'accounts disable', given }}>Disable</AskButton>
      )}
      {disabledAt !== null && !erasedAt && (
        <>
          <AskButton change={{ verb: 'accounts enable', given }}>Enable</AskButton>
          <AskButton change={{ verb: 'accounts erase', given }}>Erase</AskButton>
        </>
      )}
    </>
  );
}

function Details({ account }: { account: Account }) {
  const { paid, promotional, test, keys, endpoints, actions } = account;
  return (
    <>
      <div class="grid grid-cols-2 gap-6 lg:grid-cols-5">
        <Figure name="Paid credits">{formatNumber(paid.available)}</Figure>
        <Figure name="Promotional">{formatNumber(promotional.available)}</Figure>
        <Figure name="Reserved">{formatNumber(paid.reserved + promotional.reserved)}</Figure>
        <Figure name="Owed">{formatNumber(paid.debt + promotional.debt)}</Figure>
        <Figure name="Test credits" note={`${formatNumber(test.reserved)} reserved`}>
          {formatNumber(test.available)}
        </Figure>
      </div>
      <Card title="Account">
        <Facts facts={factsOf(account)} />
      </Card>
      <TableCard title="API keys" columns={KEYS} rows={keys} keyOf={(key) => key.key_id} />
      <TableCard title="Webhook endpoints" columns={ENDPOINTS} rows={endpoints} />
      <WaysIn account={account} />
      <TableCard title="What operators changed" {...ACTIONS} rows={actions} />
    </>
  );
}

function factsOf(account: Account) {
  const { account_id: id, erase_at: eraseAt, paused_until: pausedUntil, tasks, lots } = account;
  const until = eraseAt && (
    <>
      can be reopened until <DateTime at={eraseAt} />
    </>
  );
  const taskCounts = tasks.map((row) => `${row.tasks} ${row.phase}`).join(', ') || 'none';
  return [
    { name: 'Account ID', value: id, mono: true },
    { name: 'State', value: <AccountState account={account} /> },
    { name: 'Created', value: <DateTime at={account.created_at} /> },
    { name: 'No new tasks until', value: pausedUntil && <DateTime at={pausedUntil} /> },
    { name: 'Closed by its owner', value: until },
    { name: 'Tasks', value: <Link href={`/operator/tasks?account=${id}`}>{taskCounts}</Link> },
    {
      name: 'Orders',
      value: <Link href={`/operator/orders?account=${id}`}>Orders of this account</Link>,
    },
    { name: 'Subscription', value: subscriptionOf(account) },
    ...lots.map(({ lot, kind, available, expires_at: expiresAt }) => ({
      name: 'Expiring credits',
      value: (
        <>
          <Credits value={available} /> {kind}, until <DateTime at={expiresAt} />, from {lot}
        </>
      ),
    })),
  ];
}

const KEYS: Column<Account['keys'][number]>[] = [
  prose('Name', ({ name, mode }) => (
    <span>
      {name ?? <span class="text-dim">–</span>} {mode === 'test' && <TestMark />}
    </span>
  )),
  mono('Key ID', (key) => key.key_id),
  column('Created', (key) => <RelativeTime at={key.created_at} />),
  column('Last used', (key) => (
    <div>
      <RelativeTime at={key.last_used_at} otherwise="not yet" />{' '}
      <span class="figures text-sm text-dim">{key.last_used_address}</span>
    </div>
  )),
  column('State', (key) => <KeyState apiKey={key} />),
  column('', ({ key_id: key, revoked_at: revokedAt }) =>
    revokedAt ? null : (
      <div class="flex flex-wrap gap-1.5 lg:justify-end xl:flex-nowrap">
        <AskButton small item={key} change={{ verb: 'keys update', given: { key } }}>
          Change
        </AskButton>
        <AskButton small item={key} change={{ verb: 'keys revoke', given: { key } }}>
          Revoke
        </AskButton>
      </div>
    ),
  ),
];

function KeyState({ apiKey }: { apiKey: Account['keys'][number] }) {
  const { revoked_at: revokedAt, expires_at: expiresAt, monthly_cap: cap } = apiKey;
  if (revokedAt) return <>revoked</>;
  if (expiresAt === null) return <Cell below={cap !== null && capText(cap)}>valid</Cell>;
  const word = Date.parse(expiresAt) > Date.now() ? 'until ' : 'expired ';
  return (
    <Cell below={cap !== null && capText(cap)}>
      {word}
      <DateTime at={expiresAt} />
    </Cell>
  );
}

const capText = (cap: number) => `at most ${formatNumber(cap)} a month`;

function subscriptionOf({ subscription }: Account) {
  if (subscription === null) return null;
  const { plan, state, renews_at: at } = subscription;
  return (
    <>
      {plan}, {state}
      {at && [', renews ', <DateTime key="at" at={at} />]}
    </>
  );
}

const ENDPOINTS: Column<Account['endpoints'][number]>[] = [
  prose('Address', ({ url, mode, description }) => (
    <Cell below={description}>
      {url ?? 'none: events are only listed'} {mode === 'test' && <TestMark />}
    </Cell>
  )),
  mono('Endpoint ID', ({ id }) => id),
  column('State', ({ disabled_at: at, disabled_because: why, failing_since: since }) => {
    if (at) return <Badge tone="bad">{`disabled: ${why}`}</Badge>;
    if (since === null) return <Badge tone="good">healthy</Badge>;
    return (
      <Cell below={['since ', <RelativeTime key="at" at={since} />]}>
        <Badge tone="bad">failing</Badge>
      </Cell>
    );
  }),
];

const MOVEMENTS: Column<Movement>[] = [
  column('Time', ({ at }) => <DateTime at={at} />),
  prose('What the customer reads', ({ what, kind, reason, from, to }) => (
    <Cell below={`${kind} ${reason}: ${from} → ${to}`}>{what}</Cell>
  )),
  numbers('Credits', ({ credits }) => <Credits value={credits} />),
  numbers('Available after', (row) => <Credits value={row.available_after} />),
  prose('Belongs to', (row) => <BelongsTo movement={row} />),
];

/** A movement's task; otherwise its order or reference, with the note on it. */
function BelongsTo({ movement }: { movement: Movement }) {
  const { task_id: task, order_id: order, reference, note } = movement;
  if (task) return <Id href={`/operator/tasks/${task}`} id={task} />;
  return (
    <Cell below={note}>
      {order ? (
        <Id href={`/operator/orders/${order}`} id={order} />
      ) : (
        <span class="figures text-sm break-all">{reference}</span>
      )}
    </Cell>
  );
}

function WaysIn({ account }: { account: Account }) {
  const { account_id: id, sessions, passkeys, identities } = account;
  if (sessions.length + passkeys.length + identities.length === 0) return null;
  const given = { account: id, only_sessions: false };
  return (
    <Card
      title="Signing in"
      actions={
        <AskButton change={{ verb: 'accounts sign-out', given }}>Sign out everywhere</AskButton>
      }
    >
      <div class="grid gap-7">
        <Table caption="Sessions" columns={SESSIONS} rows={sessions} />
        <Table caption="Passkeys" columns={passkeysOf(id)} rows={passkeys} />
        <Table caption="Outside identities" columns={IDENTITIES} rows={identities} />
      </div>
    </Card>
  );
}

const SESSIONS: Column<Account['sessions'][number]>[] = [
  column('Session', ({ browser }) => browser ?? 'Unknown browser'),
  mono('Network', ({ network }) => network ?? 'unknown'),
  column('Method', ({ method }) => method),
  column('Signed in', (row) => <RelativeTime at={row.created_at} />),
  column('Last used', (row) => <RelativeTime at={row.seen_at} />),
];

const IDENTITIES: Column<Account['identities'][number]>[] = [
  column('Outside identity', ({ issuer }) => <span class="break-all">{issuer}</span>),
  column('Its id at the issuer', ({ subject }) => <span class="break-all">{subject}</span>),
  column('Added', (row) => <RelativeTime at={row.created_at} />),
];

function passkeysOf(account: string): Column<Account['passkeys'][number]>[] {
  return [
    prose('Passkey', ({ name }) => name),
    column('Added', (row) => <RelativeTime at={row.created_at} />),
    column('Last used', (row) => <RelativeTime at={row.used_at} otherwise="not yet" />),
    column('', ({ id: passkey, name }) => (
      <div class="flex md:justify-end">
        <AskButton
          small
          item={name}
          change={{ verb: 'accounts remove-passkey', given: { account, passkey } }}
        >
          Remove
        </AskButton>
      </div>
    )),
  ];
}
