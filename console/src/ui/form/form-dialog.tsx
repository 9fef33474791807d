import type { ComponentChildren } from 'preact';
import { type ApiFailure, besideField } from '../../api.ts';
import type { Draft } from '../../draft.ts';
import { Button } from '../button.tsx';
import { Dialog, useClose } from '../dialog.tsx';
import { useSending } from './sending.tsx';

interface DialogWords {
  title: string;
  action: string;
  /** The label of the button that only closes it. */
  dismiss?: string;
  isDangerous?: boolean;
  disabled?: boolean;
}

interface FormDialogProps<Sent> extends DialogWords {
  onClose?: () => void;
  onSend: () => Promise<Sent>;
  /** Called after the dialog closed, unless sending failed. */
  onSent?: (sent: Sent) => unknown;
  /** Whether a field already shows this failure. */
  isBeside?: (failure: ApiFailure) => boolean;
  children: (failure: ApiFailure | undefined) => ComponentChildren;
}

/** A form in a dialog: fields, error, and the cancel and submit buttons. */
export function FormDialog<Sent>(props: FormDialogProps<Sent>) {
  const closeDialog = useClose();
  const { title, action, dismiss = 'Cancel', isDangerous, children } = props;
  const close = () => {
    props.onClose?.();
    closeDialog();
  };
  const { isBusy, failure, send } = useSending(async () => {
    const sent = await props.onSend();
    close();
    props.onSent?.(sent);
  });
  const submit = (event: Event) => {
    event.preventDefault();
    void send();
  };
  return (
    <Dialog onClose={close} title={title}>
      <form onSubmit={submit} class="grid gap-5">
        {children(failure)}
        <p role="alert" class="text-bad empty:hidden">
          {failure && !props.isBeside?.(failure) && failure.message}
        </p>
        <div class="flex flex-wrap justify-end gap-2.5">
          <Button onClick={close}>{dismiss}</Button>
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

type ConfirmProps = DialogWords & {
  onConfirm: () => Promise<void>;
  children: ComponentChildren;
};

/** Asks for confirmation. An error stays in the dialog. */
export function Confirm({ onConfirm, children, ...words }: ConfirmProps) {
  return (
    <FormDialog isDangerous {...words} onSend={onConfirm}>
      {() => <div class="text-dim">{children}</div>}
    </FormDialog>
  );
}

interface DraftDialogProps<Value extends object, Sent>
  extends DialogWords,
    Pick<FormDialogProps<Sent>, 'onSend' | 'onSent'> {
  draft: Draft<Value>;
  children: (
    field: <Name extends keyof Value>(name: Name) => DraftField<Value[Name]>,
  ) => ComponentChildren;
}

export interface DraftField<Value> {
  value: Value;
  onChange: (value: Value) => void;
  error: string | undefined;
}

/** A form dialog whose fields are a draft; errors are shown at their field. */
export function DraftDialog<Value extends object, Sent>(props: DraftDialogProps<Value, Sent>) {
  const { draft, children, ...dialog } = props;
  return (
    <FormDialog
      {...dialog}
      onClose={draft.drop}
      isBeside={({ details }) => String(details.field) in draft.value}
    >
      {(failure) =>
        children((name) => ({
          value: draft.value[name],
          onChange: (value) => draft.change((before) => ({ ...before, [name]: value })),
          error: failure?.details.field === name ? besideField(failure) : undefined,
        }))
      }
    </FormDialog>
  );
}
