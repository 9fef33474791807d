import type { RefObject } from 'preact';
import { useListener } from '../../load.ts';
import { Facts } from '../../ui/card.tsx';
import { Dialog, openDialog } from '../../ui/dialog.tsx';

/** The page's keyboard shortcuts. A single key does nothing in a text field. */
export function useShortcuts(form: RefObject<HTMLFormElement | null>): void {
  useListener(['keydown'], (event) => {
    if (!(event instanceof KeyboardEvent) || document.querySelector('dialog[open]')) return;
    const { key, ctrlKey, metaKey, target } = event;
    if (key === 'Enter' && (ctrlKey || metaKey)) form.current?.requestSubmit();
    const isText = target instanceof Element && target.matches('input, textarea, select');
    if (key === '?' && !isText) openDialog(<Shortcuts />);
  });
}

const FACTS = [
  { name: 'Ctrl or ⌘ + Enter', value: 'Generate' },
  { name: '← →', value: 'Previous or next video in the strip' },
  { name: 'Drop or paste', value: 'Adds a file, anywhere on the page' },
  { name: '?', value: 'These shortcuts' },
];

function Shortcuts() {
  return (
    <Dialog title="Keyboard shortcuts">
      <Facts facts={FACTS} />
    </Dialog>
  );
}
