import type { OperatorAccount } from '../../operator-shapes.ts';
import { Button } from '../../ui/button.tsx';
import { Card } from '../../ui/card.tsx';
import { RelativeTime } from '../../ui/format.tsx';
import { type Column, Table } from '../../ui/table.tsx';
import type { Change } from './verb-dialog.tsx';

interface Props {
  account: OperatorAccount;
  onAsk: (change: Change) => void;
}

/** Where an account is signed in, and its passkeys and outside identities. */
export function WaysIn({ account, onAsk }: Props) {
  const { account_id: id, sessions, passkeys, identities } = account;
  if (sessions.length + passkeys.length + identities.length === 0) return null;
  const signOut: Change = {
    verb: 'accounts sign-out',
    given: { account: id, only_sessions: false },
  };
  return (
    <Card
      title="Signing in"
      actions={<Button onClick={() => onAsk(signOut)}>Sign out everywhere</Button>}
    >
      <div class="grid gap-7">
        {sessions.length > 0 && (
          <Table caption="Sessions" columns={SESSIONS} rows={sessions} keyOf={(row) => row.id} />
        )}
        {passkeys.length > 0 && (
          <Table
            caption="Passkeys"
            columns={passkeysWith(id, onAsk)}
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

function passkeysWith(
  account: string,
  onAsk: Props['onAsk'],
): Column<OperatorAccount['passkeys'][number]>[] {
  const removal = ({ id: passkey }: OperatorAccount['passkeys'][number]): Change => ({
    verb: 'accounts remove-passkey',
    given: { account, passkey },
  });
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
      cell: (passkey) => (
        <div class="flex md:justify-end">
          <Button
            small
            aria-label={`Remove ${passkey.name}`}
            onClick={() => onAsk(removal(passkey))}
          >
            Remove
          </Button>
        </div>
      ),
    },
  ];
}
