import type { ComponentChildren } from 'preact';
import { useId, useLayoutEffect, useRef } from 'preact/hooks';
import { placeOf, returnTo } from '../focus.ts';
import { Button, IconButton } from './button.tsx';
import { useSending } from './form/sending.ts';

/** Opens the dialog of the ref, and takes the keyboard back to where it was. */
function useModal(open: boolean, isKept: boolean, onClose: () => void) {
  const dialog = useRef<HTMLDialogElement>(null);
  const latest = useRef(onClose);
  latest.current = onClose;
  // At once: what comes between a click and this would be taken for the place to return to, and
  // whoever looks right after the dialog is gone would find the keyboard nowhere.
  useLayoutEffect(() => {
    if (!open) return;
    const before = placeOf(document.activeElement);
    const element = dialog.current;
    const onClosed = () => latest.current();
    if (isKept) element?.setAttribute('closedby', 'none');
    element?.showModal();
    element?.addEventListener('close', onClosed);
    return () => {
      element?.removeEventListener('close', onClosed); // nobody closes what is removed
      element?.close();
      // The browser does this for a dialog that is closed, not for one that is removed.
      returnTo(before);
    };
  }, [open]);
  return dialog;
}

/** A native dialog: Escape closes it, the keyboard stays in it, and returns to where it was. */
export function Dialog({
  open,
  onClose,
  title,
  isKept = false,
  children,
}: {
  open: boolean;
  onClose: () => void;
  title: string;
  /** Only its own buttons close it: what it shows can't be shown again. */
  isKept?: boolean;
  children: ComponentChildren;
}) {
  const dialog = useModal(open, isKept, onClose);
  const id = useId();
  return (
    <dialog
      ref={dialog}
      aria-labelledby={id}
      // For browsers that do not know closedby.
      onKeyDown={(event) => isKept && event.key === 'Escape' && event.preventDefault()}
      class="m-auto w-[min(34rem,calc(100vw-2rem))] border border-edge bg-sheet p-6 text-ink sm:p-8"
    >
      {open && (
        <>
          <div class="mb-4 flex items-start justify-between gap-4">
            <h2 id={id} class="text-heading">
              {title}
            </h2>
            {!isKept && (
              <IconButton icon="cross" label="Close" onClick={() => dialog.current?.close()} />
            )}
          </div>
          {children}
        </>
      )}
    </dialog>
  );
}

interface Question {
  onClose: () => void;
  children: ComponentChildren;
  /** The word on the button, such as "Revoke the key". */
  action: string;
  onConfirm: () => Promise<void>;
}

/** Asks before something that can't be undone. An error stays in the dialog. */
export function Confirm({ open, title, ...question }: Question & { open: boolean; title: string }) {
  return (
    <Dialog open={open} onClose={question.onClose} title={title}>
      <Answer {...question} />
    </Dialog>
  );
}

function Answer({ onClose, children, action, onConfirm }: Question) {
  const { isBusy, failure, send } = useSending(() => onConfirm().then(onClose));
  return (
    <>
      <div class="text-dim">{children}</div>
      <p role="alert" class="mt-3 text-bad empty:hidden">
        {failure?.message}
      </p>
      <div class="mt-7 flex flex-wrap justify-end gap-2.5">
        <Button onClick={onClose}>Cancel</Button>
        <Button look="danger" busy={isBusy} onClick={() => void send()}>
          {action}
        </Button>
      </div>
    </>
  );
}
