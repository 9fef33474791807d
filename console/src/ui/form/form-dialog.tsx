import type { ComponentChildren } from 'preact';
import type { ApiFailure } from '../../api.ts';
import { Button } from '../button.tsx';
import { Dialog } from '../dialog.tsx';
import { useSending } from './sending.ts';

interface FormDialogProps {
  title: string;
  /** The words on the button that sends. */
  action: string;
  /** The words on the button that only closes. */
  dismiss?: string;
  isDangerous?: boolean;
  disabled?: boolean;
  onClose: () => void;
  /** Closes the dialog too, unless it fails. */
  onSend: () => Promise<unknown>;
  /** Whether a field shows this failure. */
  isBeside?: (failure: ApiFailure) => boolean;
  children: (failure: ApiFailure | undefined) => ComponentChildren;
}

/** A form in a dialog: its fields, what went wrong, and the buttons that cancel and send. */
export function FormDialog(props: FormDialogProps) {
  const { title, action, dismiss = 'Cancel', isDangerous, onClose, children } = props;
  const { isBusy, failure, send } = useSending(props.onSend);
  const submit = (event: Event) => {
    event.preventDefault();
    void send();
  };
  return (
    <Dialog open onClose={onClose} title={title}>
      <form onSubmit={submit} class="grid gap-5">
        {children(failure)}
        <p role="alert" class="text-bad empty:hidden">
          {failure && !props.isBeside?.(failure) && failure.message}
        </p>
        <div class="flex flex-wrap justify-end gap-2.5">
          <Button onClick={onClose}>{dismiss}</Button>
          <Button
            look={isDangerous ? 'danger' : 'primary'}
            type="submit"
            busy={isBusy}
            disabled={props.disabled}
          >
            {action}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
