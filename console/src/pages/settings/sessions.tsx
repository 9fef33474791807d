import { useState } from 'preact/hooks';
import type { SessionItem } from '../../../../server/src/site/account/sessions.ts';
import { ApiFailure, api } from '../../api.ts';
import { useLoad } from '../../load.ts';
import { Badge } from '../../ui/badge.tsx';
import { Button } from '../../ui/button.tsx';
import { Card } from '../../ui/card.tsx';
import { RelativeTime } from '../../ui/format.tsx';
import { Load, Skeleton } from '../../ui/states.tsx';
import { Cell, type Column, column, Table } from '../../ui/table.tsx';
import { toastOutcome } from '../../ui/toast.tsx';

const METHODS: Record<string, string> = {
  code: 'with a code',
  passkey: 'with a passkey',
  github: 'with GitHub',
  google: 'with Google',
  oidc: 'with single sign-on',
};

async function end({ id }: SessionItem): Promise<void> {
  await api('DELETE /console/api/sessions/:id', { params: { id } }).catch((error) => {
    const hasEnded = error instanceof ApiFailure && error.status === 404;
    if (!hasEnded) throw error;
  });
}

export function Sessions() {
  const list = useLoad('/console/api/sessions');
  const [busy, setBusy] = useState<string>();
  const endAll = async (which: string, sessions: SessionItem[], said: string) => {
    setBusy(which);
    await toastOutcome(Promise.all(sessions.map(end)), said);
    await list.reload();
    setBusy(undefined);
  };
  const others = list.data?.items.filter((session) => !session.is_current) ?? [];
  const actions = others.length > 0 && (
    <Button
      busy={busy === 'others'}
      onClick={() => void endAll('others', others, 'You are now signed in only here.')}
    >
      Sign out everywhere else
    </Button>
  );
  const signOut = (session: SessionItem) => void endAll(session.id, [session], 'Signed out there.');
  return (
    <Card
      title="Where you are signed in"
      note="You are signed out 14 days after the last use. If you do not recognize one of these, sign it out."
      actions={actions}
    >
      <Load from={list} skeleton={<Skeleton lines={3} />}>
        {({ items }) => (
          <Table
            caption="Sessions"
            columns={[...COLUMNS, signOutColumn(busy, signOut)]}
            rows={items.toSorted((a, b) => Number(b.is_current) - Number(a.is_current))}
          />
        )}
      </Load>
    </Card>
  );
}

function signOutColumn(
  busy: string | undefined,
  signOut: (session: SessionItem) => void,
): Column<SessionItem> {
  return column('', (session) => (
    <div class="flex md:justify-end">
      {session.is_current ? (
        <Badge tone="good">This browser</Badge>
      ) : (
        <Button
          small
          busy={busy === session.id}
          aria-label={`Sign out ${session.browser ?? 'the unknown browser'}`}
          onClick={() => signOut(session)}
        >
          Sign out
        </Button>
      )}
    </div>
  ));
}

const COLUMNS: Column<SessionItem>[] = [
  column('Browser', (session) => (
    <Cell below={<span class="figures">{session.network ?? 'unknown network'}</span>}>
      <span class="font-medium">{session.browser ?? 'Unknown browser'}</span>
    </Cell>
  )),
  column('Signed in', (session) => (
    <Cell below={METHODS[session.method] ?? session.method}>
      <RelativeTime at={session.created_at} />
    </Cell>
  )),
  column('Last used', (session) =>
    session.is_current ? 'now' : <RelativeTime at={session.seen_at} />,
  ),
];
