import { useState } from 'preact/hooks';
import { isMissing, useList, useLoad } from '../../load.ts';
import type { OperatorAccount, OperatorMovement } from '../../operator-shapes.ts';
import { Button, Link } from '../../ui/button.tsx';
import { Card, Facts, Figure } from '../../ui/card.tsx';
import { Credits, DateTime, formatNumber, RelativeTime } from '../../ui/format.tsx';
import { Load, Skeleton } from '../../ui/states.tsx';
import { type Column, More, Table } from '../../ui/table.tsx';
import { AccountState } from './accounts.tsx';
import { ActionTable } from './actions.tsx';
import { Id, NoSuch, OperatorPage } from './frame.tsx';
import { type Change, VerbDialog } from './verb-dialog.tsx';
import { WaysIn } from './ways-in.tsx';

/** One account: its credits, keys and movements, and what an operator can do about it. */
export function AccountPage({ id }: { id: string }) {
  const loaded = useLoad('/console/api/operator/accounts/:id', { params: { id } });
  const statement = useList('/console/api/operator/accounts/:id/statement', { params: { id } });
  const [change, setChange] = useState<Change>();
  const reload = () => {
    void loaded.reload();
    void statement.reload();
  };
  if (isMissing(loaded)) return <NoSuch what="Account" id={id} />;
  return (
    <OperatorPage
      title="Account"
      lead={loaded.data?.email}
      actions={
        loaded.data && (
          <>
            <Button look="primary" onClick={() => setChange(movementOf('credits grant', id))}>
              Grant credits
            </Button>
            <Button onClick={() => setChange(movementOf('credits adjust', id))}>Adjust</Button>
            <AccountButtons account={loaded.data} onAsk={setChange} />
          </>
        )
      }
    >
      <Load from={loaded} skeleton={<Skeleton lines={14} />}>
        {(account) => <Details account={account} onAsk={setChange} />}
      </Load>
      <Card title="Statement" note="Every transfer of credits, the newest first.">
        <Load from={{ ...statement, data: statement.items }}>
          {(movements) => (
            <>
              <Table
                caption="Transfers"
                columns={MOVEMENTS}
                rows={movements}
                keyOf={(row) => row.id}
              />
              <More list={statement} />
            </>
          )}
        </Load>
      </Card>
      {change && (
        <VerbDialog change={change} onClose={() => setChange(undefined)} onDone={reload} />
      )}
    </OperatorPage>
  );
}

/** A change of credits, with a name that is booked once, however often the button is pressed. */
function movementOf(verb: 'credits grant' | 'credits adjust', account: string): Change {
  const reference = `console-${crypto.randomUUID().slice(0, 8)}`;
  return { verb, given: { account }, initial: { reference } };
}

function AccountButtons({
  account,
  onAsk,
}: {
  account: OperatorAccount;
  onAsk: (change: Change) => void;
}) {
  const given = { account: account.account_id };
  if (account.erased_at) return null;
  if (account.disabled_at === null) {
    return <Button onClick={() => onAsk({ verb: 'accounts disable', given })}>Disable</Button>;
  }
  return (
    <>
      <Button onClick={() => onAsk({ verb: 'accounts enable', given })}>Enable</Button>
      <Button onClick={() => onAsk({ verb: 'accounts erase', given })}>Erase</Button>
    </>
  );
}

function Details({
  account,
  onAsk,
}: {
  account: OperatorAccount;
  onAsk: (change: Change) => void;
}) {
  const { account_id: id, paid, promotional } = account;
  return (
    <>
      <div class="grid grid-cols-2 gap-6 lg:grid-cols-4">
        <Figure name="Paid credits">{formatNumber(paid.available)}</Figure>
        <Figure name="Promotional">{formatNumber(promotional.available)}</Figure>
        <Figure name="Reserved">{formatNumber(paid.reserved + promotional.reserved)}</Figure>
        <Figure name="Owed">{formatNumber(paid.debt + promotional.debt)}</Figure>
      </div>
      <Card title="Account">
        <Facts
          facts={[
            { name: 'Account ID', value: id, mono: true },
            { name: 'State', value: <AccountState account={account} /> },
            { name: 'Created', value: <DateTime at={account.created_at} /> },
            ...(account.erase_at
              ? [
                  {
                    name: 'Closed by its owner',
                    value: (
                      <>
                        can be reopened until <DateTime at={account.erase_at} />
                      </>
                    ),
                  },
                ]
              : []),
            {
              name: 'Tasks',
              value: (
                <Link href={`/operator/tasks?account=${id}`}>
                  {account.tasks.map(({ phase, tasks }) => `${tasks} ${phase}`).join(', ') ||
                    'none'}
                </Link>
              ),
            },
            {
              name: 'Orders',
              value: <Link href={`/operator/orders?account=${id}`}>Orders of this account</Link>,
            },
            ...account.lots.map(({ lot, kind, available, expires_at }) => ({
              name: 'Expiring credits',
              value: (
                <>
                  <Credits value={available} /> {kind}, <DateTime at={expires_at} />, of {lot}
                </>
              ),
            })),
          ]}
        />
      </Card>
      {account.keys.length > 0 && (
        <Card title="API keys">
          <Table
            caption="API keys"
            columns={KEYS}
            rows={account.keys}
            keyOf={(key) => key.key_id}
          />
        </Card>
      )}
      <WaysIn account={account} onAsk={onAsk} />
      {account.actions.length > 0 && (
        <Card title="What operators changed">
          <ActionTable actions={account.actions} />
        </Card>
      )}
    </>
  );
}

const KEYS: Column<OperatorAccount['keys'][number]>[] = [
  { title: 'Name', kind: 'prose', cell: ({ name }) => name ?? <span class="text-dim">–</span> },
  { title: 'Key ID', kind: 'mono', cell: (key) => key.key_id },
  { title: 'Created', cell: (key) => <RelativeTime at={key.created_at} /> },
  {
    title: 'Last used',
    cell: (key) =>
      key.last_used_at ? (
        <div>
          <RelativeTime at={key.last_used_at} />{' '}
          <span class="figures text-sm text-dim">{key.last_used_address}</span>
        </div>
      ) : (
        <span class="text-dim">not yet</span>
      ),
  },
  { title: 'State', cell: (key) => (key.revoked_at ? 'revoked' : 'valid') },
];

const MOVEMENTS: Column<OperatorMovement>[] = [
  { title: 'Time', cell: ({ at }) => <DateTime at={at} /> },
  { title: 'Kind', cell: ({ kind }) => kind },
  {
    title: 'What the customer reads',
    kind: 'prose',
    cell: ({ what, reason, from, to }) => (
      <div>
        {what}
        <span class="block text-sm text-dim">
          {reason}: {from} → {to}
        </span>
      </div>
    ),
  },
  { title: 'Credits', kind: 'number', cell: ({ credits }) => <Credits value={credits} /> },
  {
    title: 'Available after',
    kind: 'number',
    cell: (row) => <Credits value={row.available_after} />,
  },
  { title: 'Belongs to', kind: 'prose', cell: (row) => <BelongsTo movement={row} /> },
];

/** The task or the order of a movement; of another one, what operators named it by. */
function BelongsTo({ movement }: { movement: OperatorMovement }) {
  const { task_id: task, order_id: order, reference, note } = movement;
  if (task) return <Id href={`/operator/tasks/${task}`} id={task} />;
  return (
    <div>
      {order ? (
        <Id href={`/operator/orders/${order}`} id={order} />
      ) : (
        <span class="figures text-sm break-all">{reference}</span>
      )}
      {note && <span class="block text-sm text-dim">{note}</span>}
    </div>
  );
}
