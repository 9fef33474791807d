import { useEffect, useState } from 'preact/hooks';
import { asFailure } from '../load.ts';

interface Note {
  id: number;
  text: string;
  tone: 'good' | 'bad';
}

const SHOWN_SECONDS = 6;

let last = 0;
let notes: Note[] = [];
const listeners = new Set<(notes: Note[]) => void>();

function publish(next: Note[]): void {
  notes = next;
  for (const listener of listeners) listener(notes);
}

export function toast(text: string, tone: Note['tone'] = 'good'): void {
  last += 1;
  const id = last;
  publish([...notes, { id, text, tone }]);
  setTimeout(() => publish(notes.filter((note) => note.id !== id)), SHOWN_SECONDS * 1000);
}

export function toastOutcome(change: Promise<unknown>, said: string): Promise<void> {
  return change.then(
    () => toast(said),
    (error) => toast(asFailure(error).message, 'bad'),
  );
}

/** Where toasts are rendered; once, by the shell. */
export function Toasts() {
  const [shown, setShown] = useState(notes);
  useEffect(() => {
    listeners.add(setShown);
    return () => void listeners.delete(setShown);
  }, []);
  return (
    <div
      role="status"
      class="pointer-events-none fixed inset-x-4 bottom-20 z-50 grid justify-items-end gap-2 sm:right-8 sm:bottom-8 sm:left-auto"
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
