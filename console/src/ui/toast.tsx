import { useEffect, useState } from 'preact/hooks';
import { asFailure } from '../load.ts';

interface Note {
  id: number;
  text: string;
  tone: 'good' | 'bad';
}

const SHOWN_SECONDS = 6;

let last = 0;
let show: (change: (before: Note[]) => Note[]) => void = () => {};

export function toast(text: string, tone: Note['tone'] = 'good'): void {
  last += 1;
  const id = last;
  show((before) => [...before, { id, text, tone }]);
  setTimeout(() => show((before) => before.filter((note) => note.id !== id)), SHOWN_SECONDS * 1000);
}

export function toastFailure(error: unknown): void {
  toast(asFailure(error).message, 'bad');
}

export function toastOutcome(change: Promise<unknown>, message: string): Promise<void> {
  return change.then(() => toast(message), toastFailure);
}

/** Renders the current toasts. Only the shell uses it, once. */
export function Toasts() {
  const [shown, setShown] = useState<Note[]>([]);
  useEffect(() => {
    show = setShown;
  }, []);
  return (
    <div
      role="status"
      class="pointer-events-none fixed inset-x-4 bottom-20 z-50 grid justify-items-end gap-2 sm:right-8 sm:bottom-8 sm:left-auto max-lg:in-[:has(.sticks)]:bottom-48!"
    >
      {shown.map(({ id, text, tone }) => (
        <p
          key={id}
          class={`pointer-events-auto border-l-4 bg-ink px-4 py-3 text-paper ${tone === 'bad' ? 'border-bad' : 'border-tungsten'}`}
        >
          {text}
        </p>
      ))}
    </div>
  );
}
