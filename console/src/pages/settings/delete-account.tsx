import { useState } from 'preact/hooks';
import { useLocation } from 'preact-iso';
import { type ApiFailure, api } from '../../api.ts';
import { asFailure } from '../../load.ts';
import { useSession } from '../../session.tsx';
import { Button } from '../../ui/button.tsx';
import { Card } from '../../ui/card.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { Field } from '../../ui/form/field.tsx';
import { toast } from '../../ui/toast.tsx';

/** Deletes the account, after its address was typed. */
export function DeleteAccount({ email }: { email: string }) {
  const [isOpen, setOpen] = useState(false);
  return (
    <Card
      title="Delete the account"
      note="You can’t sign in to it any more, and its credits are lost. Videos that are being made are finished and charged. Then your videos, prompts and address are erased. The records of credits stay, without your address."
    >
      <Button look="danger" onClick={() => setOpen(true)}>
        Delete the account
      </Button>
      <Dialog open={isOpen} onClose={() => setOpen(false)} title="Delete the account?">
        <DeleteForm email={email} onClose={() => setOpen(false)} />
      </Dialog>
    </Card>
  );
}

function DeleteForm({ email, onClose }: { email: string; onClose: () => void }) {
  const { refresh } = useSession();
  const { route } = useLocation();
  const [typed, setTyped] = useState('');
  const [isBusy, setBusy] = useState(false);
  const [failure, setFailure] = useState<ApiFailure>();
  const send = async (event: Event) => {
    event.preventDefault();
    setBusy(true);
    setFailure(undefined);
    try {
      await api('/console/api/account/delete', { method: 'POST', body: { email: typed } });
      route('/');
      await refresh();
      toast('The account is deleted.');
    } catch (error) {
      setFailure(asFailure(error));
      setBusy(false);
    }
  };
  return (
    <form class="grid gap-5" onSubmit={(event) => void send(event)}>
      <p class="text-dim">
        All API keys stop working at once. This can’t be undone. To continue, type{' '}
        <span class="break-all text-ink">{email}</span>.
      </p>
      <Field
        label="E-mail address of the account"
        value={typed}
        onInput={(event) => setTyped(event.currentTarget.value)}
        error={failure?.message}
        required
        autoComplete="off"
        spellcheck={false}
      />
      <div class="flex flex-wrap justify-end gap-2.5">
        <Button onClick={onClose}>Cancel</Button>
        <Button
          type="submit"
          look="danger"
          busy={isBusy}
          disabled={typed.trim().toLowerCase() !== email.toLowerCase()}
        >
          Delete the account
        </Button>
      </div>
    </form>
  );
}
