import type { ComponentChildren } from 'preact';
import { type ApiFailure, besideField } from '../../api.ts';
import type { Draft } from '../../draft.ts';
import { Button } from '../button.tsx';
import { Dialog, openDialog, useClose } from '../dialog.tsx';
import { binding } from './field.tsx';
import { submitting, useSending } from './sending.tsx';

interface DialogWords {
  title: string;
  action: string;
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
  return (
    <Dialog onClose={close} title={title}>
      <form onSubmit={submitting(send)} class="grid gap-5">
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

interface Question extends DialogWords {
  text: string;
  /** Sent after the confirmation. An error stays in the dialog. */
  request: () => Promise<unknown>;
}

/** Asks for confirmation before something that can't be undone. */
export function confirm({ text, request, ...words }: Question): void {
  openDialog(
    <FormDialog isDangerous {...words} onSend={request}>
      {() => <div class="text-dim">{text}</div>}
    </FormDialog>,
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
  autoComplete: 'off';
}

/** A form dialog that edits a draft, and shows each error at the field that caused it. */
export function DraftDialog<Value extends object, Sent>(props: DraftDialogProps<Value, Sent>) {
  const { draft, children, ...dialog } = props;
  const field = binding(draft.value, draft.set);
  return (
    <FormDialog
      {...dialog}
      onClose={draft.drop}
      isBeside={({ details }) => String(details.field) in draft.value}
    >
      {(failure) =>
        children((name) => ({
          ...field(name),
          autoComplete: 'off',
          error: failure?.details.field === name ? besideField(failure) : undefined,
        }))
      }
    </FormDialog>
  );
}
