import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { request } from '../../api.ts';
import { useDraft } from '../../draft.ts';
import { asFailure } from '../../load.ts';
import { Button } from '../../ui/button.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { Field } from '../../ui/form/field.tsx';
import { toast } from '../../ui/toast.tsx';

/** A change that an operator is about to make. */
export interface Change {
  title: string;
  /** Below /console/api/operator. */
  path: string;
  /** Sent beside the reason. */
  body?: Record<string, unknown>;
  /** The words on the button. */
  action: string;
  /** What it does, and what can't be undone. */
  explanation: ComponentChildren;
  /** Who reads the reason, if not operators only. */
  reasonHint?: string | undefined;
  isDangerous?: boolean;
}

/** Asks for the reason of a change, makes it and says what became of it. */
export function ChangeDialog({
  change,
  body,
  fields,
  onClose,
  onDone,
}: {
  change: Change;
  /** Sent beside the reason. */
  body?: Record<string, unknown>;
  /** More controls, above the reason. */
  fields?: ComponentChildren;
  onClose: () => void;
  onDone: (result: object) => void;
}) {
  const draft = useDraft(`operator ${change.path}`, () => ({ reason: '' }));
  const { reason } = draft.value;
  const [isBusy, setBusy] = useState(false);
  const [failure, setFailure] = useState('');
  const close = () => {
    draft.drop();
    onClose();
  };
  const submit = async (event: Event) => {
    event.preventDefault();
    setBusy(true);
    setFailure('');
    try {
      const sent = { ...change.body, ...body, reason };
      const path = `/console/api/operator${change.path}`;
      const result = (await request('POST', path, { body: sent })) as { changed?: boolean };
      toast(result.changed === false ? 'There was nothing to change.' : 'Done, and recorded.');
      onDone(result);
      close();
    } catch (error) {
      setFailure(asFailure(error).message);
      setBusy(false);
    }
  };
  return (
    <Dialog open onClose={close} title={change.title}>
      <form onSubmit={(event) => void submit(event)} class="grid gap-5">
        <div class="text-dim">{change.explanation}</div>
        {fields}
        <Field
          label="Reason"
          hint={
            change.reasonHint ?? 'It is recorded with your name, such as the number of a ticket.'
          }
          value={reason}
          onInput={(event) => draft.set({ reason: event.currentTarget.value })}
          required
          maxLength={500}
          autoComplete="off"
        />
        <p role="alert" class="text-bad empty:hidden">
          {failure}
        </p>
        <div class="flex flex-wrap justify-end gap-2.5">
          <Button onClick={close}>Cancel</Button>
          <Button look={change.isDangerous ? 'danger' : 'primary'} type="submit" busy={isBusy}>
            {change.action}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
