import type { RefObject } from 'preact';
import { useListener } from '../../load.ts';
import { Facts } from '../../ui/card.tsx';
import { Dialog, openDialog } from '../../ui/dialog.tsx';

/** The keys of the page. A single one works only where it is not text. */
export function useKeys(form: RefObject<HTMLFormElement | null>): void {
  useListener(['keydown'], (event) => {
    if (!(event instanceof KeyboardEvent) || document.querySelector('dialog[open]')) return;
    const { key, ctrlKey, metaKey, target } = event;
    if (key === 'Enter' && (ctrlKey || metaKey)) form.current?.requestSubmit();
    const isText = target instanceof Element && target.matches('input, textarea, select');
    if (key === '?' && !isText) openDialog(<KeyMap />);
  });
}

const FACTS = [
  { name: 'Ctrl or ⌘ + Enter', value: 'Generate' },
  { name: '← →', value: 'The video before or after, in the strip' },
  { name: 'Drop or paste', value: 'Adds a file, anywhere on the page' },
  { name: '?', value: 'These keys' },
];

function KeyMap() {
  return (
    <Dialog title="Keys">
      <Facts facts={FACTS} />
    </Dialog>
  );
}
