import { useState } from 'preact/hooks';
import type { PasskeyItem } from '../../../../server/src/site/account/passkeys.ts';
import { api } from '../../api.ts';
import { useLoad } from '../../load.ts';
import { useSiteInfo } from '../../site-info.ts';
import { Button } from '../../ui/button.tsx';
import { Card } from '../../ui/card.tsx';
import { Confirm } from '../../ui/form/form-dialog.tsx';
import { RelativeTime } from '../../ui/format.tsx';
import { Load, Skeleton } from '../../ui/states.tsx';
import { type Column, RowButtons, Table } from '../../ui/table.tsx';
import { toast } from '../../ui/toast.tsx';
import { AddPasskey, RenamePasskey } from './passkey-forms.tsx';

/** What is open over the list. */
type Open = { kind: 'add' } | { kind: 'rename' | 'remove'; passkey: PasskeyItem };

/** The passkeys of the account. They are offered only where browsers can make them. */
export function Passkeys() {
  const about = useSiteInfo();
  const list = useLoad('/console/api/passkeys');
  const [open, setOpen] = useState<Open>();
  const close = () => setOpen(undefined);
  const isOffered = about.data?.sign_in.passkeys === true && 'PublicKeyCredential' in window;
  const changed = async (said: string) => {
    toast(said);
    await list.reload();
  };
  const actions = isOffered && (
    <Button icon="plus" onClick={() => setOpen({ kind: 'add' })}>
      Add a passkey
    </Button>
  );
  return (
    <Card
      title="Passkeys"
      note="Sign in with the fingerprint, face or PIN of your device instead of a code."
      actions={actions}
    >
      <Load from={list} skeleton={<Skeleton lines={2} />}>
        {({ items }) =>
          items.length > 0 ? (
            <Table
              caption="Passkeys"
              columns={columnsWith(setOpen)}
              rows={items}
              keyOf={(passkey) => passkey.id}
            />
          ) : (
            <p class="text-dim">{about.data && !isOffered ? <NotOffered /> : 'None yet.'}</p>
          )
        }
      </Load>
      {open && <OpenDialog open={open} onClose={close} onChanged={changed} />}
    </Card>
  );
}

function OpenDialog({
  open,
  onClose,
  onChanged,
}: {
  open: Open;
  onClose: () => void;
  onChanged: (said: string) => Promise<void>;
}) {
  if (open.kind === 'add') {
    return <AddPasskey onClose={onClose} onAdded={() => onChanged('The passkey is added.')} />;
  }
  const { kind, passkey } = open;
  if (kind === 'rename') {
    const onRenamed = () => onChanged('The passkey is renamed.');
    return <RenamePasskey passkey={passkey} onClose={onClose} onRenamed={onRenamed} />;
  }
  const remove = async () => {
    await api('DELETE /console/api/passkeys/:id', { params: { id: passkey.id } });
    await onChanged('The passkey is removed. Delete it on your device, too.');
  };
  return (
    <Confirm
      onClose={onClose}
      title={`Remove “${passkey.name}”?`}
      action="Remove the passkey"
      onConfirm={remove}
    >
      It can no longer be used to sign in. You can still sign in with a code sent by e-mail.
    </Confirm>
  );
}

function NotOffered() {
  return (
    <>
      Passkeys need a browser that supports them, and an address with a host name, not with an IP
      address.
    </>
  );
}

function columnsWith(onOpen: (open: Open) => void): Column<PasskeyItem>[] {
  return [
    {
      title: 'Passkey',
      kind: 'prose',
      cell: ({ name }) => <span class="font-medium">{name}</span>,
    },
    { title: 'Added', cell: ({ created_at }) => <RelativeTime at={created_at} /> },
    {
      title: 'Last used',
      cell: ({ used_at }) =>
        used_at ? <RelativeTime at={used_at} /> : <span class="text-dim">not yet</span>,
    },
    {
      title: '',
      cell: (passkey) => (
        <RowButtons
          of={passkey.name}
          on={{
            Rename: () => onOpen({ kind: 'rename', passkey }),
            Remove: () => onOpen({ kind: 'remove', passkey }),
          }}
        />
      ),
    },
  ];
}
