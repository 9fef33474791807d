/** What happened in a history, unit by unit; the text is the same when it is replayed. */
export type Trace = ReturnType<typeof createTrace>;

const LETTERS: Record<string, string> = { task: 'T', att: 'A', obj: 'O' };

export function createTrace(nowMs: () => number) {
  const names = new Map<string, string>();
  const counts = new Map<string, number>();
  const lines: string[] = [];
  const assignName = (id: string) => {
    const letter = LETTERS[id.split('_')[0] ?? ''] ?? '?';
    const count = (counts.get(letter) ?? 0) + 1;
    counts.set(letter, count);
    names.set(id, `${letter}${count}`);
    return `${letter}${count}`;
  };
  return {
    note(thread: string, what: string, fault = 'none') {
      const seconds = (nowMs() / 1000).toFixed(3);
      lines.push(`${seconds} ${thread}: ${what}${fault === 'none' ? '' : ` (${fault})`}`);
    },
    /** A short name for an id that differs from run to run: T1 for the first task, and so on. */
    nameOf: (id: string) => names.get(id) ?? assignName(id),
    lines: () => lines,
  };
}

const ID = /^(task|att|obj)_[0-9A-Za-z]{20,}$/;
/** Phases of tasks, states of attempts, and how reservations are settled. */
const TRACED_VALUES = new Set([
  'ingesting',
  'submitting',
  'generating',
  'archiving',
  'held',
  'completed',
  'failed',
  'in_flight',
  'unknown',
  'accepted',
  'rejected',
  'not_sent',
  'absent',
  'capture',
  'refund',
]);

/** A statement's name with its ids, phases and states. */
export function describe(trace: Trace, name: string, values: readonly unknown[] = []): string {
  const words = values.flatMap((value) => {
    if (typeof value !== 'string') return [];
    if (ID.test(value)) return [trace.nameOf(value)];
    return TRACED_VALUES.has(value) ? [value] : [];
  });
  return [name, ...words].join(' ');
}
