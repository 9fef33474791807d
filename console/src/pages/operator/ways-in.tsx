import type { OperatorAccount } from '../../operator-shapes.ts';
import { Card } from '../../ui/card.tsx';
import { RelativeTime } from '../../ui/format.tsx';
import { type Column, Table } from '../../ui/table.tsx';
import { AskButton } from './frame.tsx';

/** Where an account is signed in, and its passkeys and outside identities. */
export function WaysIn({ account }: { account: OperatorAccount }) {
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
        {sessions.length > 0 && (
          <Table caption="Sessions" columns={SESSIONS} rows={sessions} keyOf={(row) => row.id} />
        )}
        {passkeys.length > 0 && (
          <Table
            caption="Passkeys"
            columns={passkeysOf(id)}
            rows={passkeys}
            keyOf={(row) => row.id}
          />
        )}
        {identities.length > 0 && (
          <Table
            caption="Outside identities"
            columns={IDENTITIES}
            rows={identities}
            keyOf={({ issuer, subject }) => `${issuer} ${subject}`}
          />
        )}
      </div>
    </Card>
  );
}

const SESSIONS: Column<OperatorAccount['sessions'][number]>[] = [
  { title: 'Session', cell: ({ browser }) => browser ?? 'Unknown browser' },
  { title: 'Network', kind: 'mono', cell: ({ network }) => network ?? 'unknown' },
  { title: 'Method', cell: ({ method }) => method },
  { title: 'Signed in', cell: (row) => <RelativeTime at={row.created_at} /> },
  { title: 'Last used', cell: (row) => <RelativeTime at={row.seen_at} /> },
];

const IDENTITIES: Column<OperatorAccount['identities'][number]>[] = [
  { title: 'Outside identity', cell: ({ issuer }) => <span class="break-all">{issuer}</span> },
  { title: 'Its id there', cell: ({ subject }) => <span class="break-all">{subject}</span> },
  { title: 'Added', cell: (row) => <RelativeTime at={row.created_at} /> },
];

function passkeysOf(account: string): Column<OperatorAccount['passkeys'][number]>[] {
  return [
    { title: 'Passkey', kind: 'prose', cell: ({ name }) => name },
    { title: 'Added', cell: (row) => <RelativeTime at={row.created_at} /> },
    {
      title: 'Last used',
      cell: ({ used_at: at }) =>
        at ? <RelativeTime at={at} /> : <span class="text-dim">not yet</span>,
    },
    {
      title: '',
      cell: ({ id: passkey, name }) => (
        <div class="flex md:justify-end">
          <AskButton
            small
            of={name}
            change={{ verb: 'accounts remove-passkey', given: { account, passkey } }}
          >
            Remove
          </AskButton>
        </div>
      ),
    },
  ];
}
