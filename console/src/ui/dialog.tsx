import type { ComponentChildren } from 'preact';
import { useId, useLayoutEffect, useRef } from 'preact/hooks';
import { placeOf, returnTo } from '../focus.ts';
import { IconButton } from './button.tsx';

/** Opens the dialog of the ref, and takes the keyboard back to where it was. */
function useModal(isKept: boolean, onClose: () => void) {
  const dialog = useRef<HTMLDialogElement>(null);
  const latest = useRef(onClose);
  latest.current = onClose;
  // At once: what comes between a click and this would be taken for the place to return to, and
  // whoever looks right after the dialog is gone would find the keyboard nowhere.
  useLayoutEffect(() => {
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
  }, []);
  return dialog;
}

interface DialogProps {
  onClose: () => void;
  title: string;
  /** Only its own buttons close it: what it shows can't be shown again. */
  isKept?: boolean;
  children: ComponentChildren;
}

/**
 * A native dialog: Escape closes it, the keyboard stays in it, and returns to where it was. Its
 * first control has the focus, a field or the button that only closes it; the cross is the last.
 */
export function Dialog({ onClose, title, isKept = false, children }: DialogProps) {
  const dialog = useModal(isKept, onClose);
  const id = useId();
  return (
    <dialog
      ref={dialog}
      aria-labelledby={id}
      // For browsers that do not know closedby.
      onKeyDown={(event) => isKept && event.key === 'Escape' && event.preventDefault()}
      class="m-auto w-[min(34rem,calc(100vw-2rem))] border border-edge bg-sheet p-6 text-ink sm:p-8"
    >
      <h2 id={id} class={`mb-4 text-heading ${isKept ? '' : 'pr-11'}`}>
        {title}
      </h2>
      {children}
      {!isKept && (
        <div class="absolute top-5 right-5 sm:top-7 sm:right-7">
          <IconButton icon="cross" label="Close" onClick={() => dialog.current?.close()} />
        </div>
      )}
    </dialog>
  );
}
