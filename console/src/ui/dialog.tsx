import { type ComponentChildren, createContext } from 'preact';
import { useContext, useEffect, useId, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { useLocation } from 'preact-iso';
import { placeOf, returnTo } from '../focus.ts';
import { IconButton } from './button.tsx';

interface Opened {
  id: number;
  content: ComponentChildren;
  mustBeAnswered: boolean;
}

let count = 0;
let open: (opened: Opened) => void = () => {};

/**
 * Opens a dialog above all others. The user closes it, or a navigation does.
 * @param options.mustBeAnswered for what can't be shown again, such as a secret: only the buttons
 * in
 *   the dialog close it. A navigation keeps it open, and the browser asks before leaving the site
 */
export function openDialog(content: ComponentChildren, { mustBeAnswered = false } = {}): void {
  count += 1;
  open({ id: count, content, mustBeAnswered });
}

const DialogContext = createContext({ mustBeAnswered: false, close: () => {} });

export function useClose(): () => void {
  return useContext(DialogContext).close;
}

/** Renders the open dialogs. Only the shell uses it, once. */
export function Dialogs() {
  const [opened, setOpened] = useState<Opened[]>([]);
  const { path } = useLocation();
  useEffect(() => {
    open = (added) => setOpened((before) => [...before, added]);
    return () => {
      open = () => {};
    };
  }, []);
  useEffect(() => setOpened((before) => before.filter((dialog) => dialog.mustBeAnswered)), [path]);
  const hasUnanswered = opened.some((dialog) => dialog.mustBeAnswered);
  useEffect(() => {
    if (!hasUnanswered) return;
    const ask = (event: Event) => event.preventDefault();
    addEventListener('beforeunload', ask);
    return () => removeEventListener('beforeunload', ask);
  }, [hasUnanswered]);
  const close = (id: number) => setOpened((before) => before.filter((dialog) => dialog.id !== id));
  return (
    <>
      {opened.map(({ id, content, mustBeAnswered }) => (
        <DialogContext.Provider key={id} value={{ mustBeAnswered, close: () => close(id) }}>
          {content}
        </DialogContext.Provider>
      ))}
    </>
  );
}

/** Opens the ref's dialog, and returns the focus when it closes. */
function useModal(mustBeAnswered: boolean, onClose: () => void) {
  const dialog = useRef<HTMLDialogElement>(null);
  const latest = useRef(onClose);
  latest.current = onClose;
  // A layout effect, because a plain one runs too late: by then the focus may have left the opener,
  // and would return only some time after the dialog is gone.
  useLayoutEffect(() => {
    const before = placeOf(document.activeElement);
    const element = dialog.current;
    const onClosed = () => latest.current();
    if (mustBeAnswered) element?.setAttribute('closedby', 'none');
    element?.showModal();
    element?.addEventListener('close', onClosed);
    return () => {
      element?.removeEventListener('close', onClosed); // a removed dialog fires no close event
      element?.close();
      // The browser does this for closed dialogs, not for removed ones.
      returnTo(before);
    };
  }, []);
  return dialog;
}

interface DialogProps {
  title: string;
  /** Replaces the default, which removes the closed dialog: must do the same (`useClose`). */
  onClose?: (() => void) | undefined;
  children: ComponentChildren;
}

/** Its first control gets the focus: a field, or the button that cancels. */
export function Dialog({ title, onClose, children }: DialogProps) {
  const { mustBeAnswered, close } = useContext(DialogContext);
  const dialog = useModal(mustBeAnswered, onClose ?? close);
  const id = useId();
  return (
    <dialog
      ref={dialog}
      aria-labelledby={id}
      // For browsers without closedby.
      onKeyDown={(event) => mustBeAnswered && event.key === 'Escape' && event.preventDefault()}
      class="m-auto w-[min(34rem,calc(100vw-2rem))] border border-edge bg-sheet p-6 text-ink sm:p-8"
    >
      <h2 id={id} class={`mb-4 text-heading ${mustBeAnswered ? '' : 'pr-11'}`}>
        {title}
      </h2>
      {children}
      {!mustBeAnswered && (
        <div class="absolute top-5 right-5 sm:top-7 sm:right-7">
          <IconButton icon="cross" label="Close" onClick={() => dialog.current?.close()} />
        </div>
      )}
    </dialog>
  );
}
