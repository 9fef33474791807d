import type { ComponentChildren } from 'preact';

const TONES = {
  neutral: { dot: 'bg-edge', text: 'text-dim' },
  busy: { dot: 'bg-tungsten animate-breathe', text: 'text-print' },
  good: { dot: 'bg-good', text: 'text-good' },
  bad: { dot: 'bg-bad', text: 'text-bad' },
} as const;

export type Tone = keyof typeof TONES;

export function Badge({
  tone = 'neutral',
  children,
}: {
  tone?: Tone;
  children: ComponentChildren;
}) {
  const { dot, text } = TONES[tone];
  return (
    <span class={`inline-flex items-center gap-2 text-sm font-medium whitespace-nowrap ${text}`}>
      <span class={`h-3 w-[5px] flex-none ${dot}`} aria-hidden="true" />
      {children}
    </span>
  );
}

export function TestMark() {
  return <span class="edge-print border border-print px-1.5">test</span>;
}

const STATES: Record<string, { tone: Tone; word: string }> = {
  processing: { tone: 'busy', word: 'Processing' },
  held: { tone: 'busy', word: 'Being checked' },
  completed: { tone: 'good', word: 'Completed' },
  failed: { tone: 'bad', word: 'Failed' },
  deleted: { tone: 'neutral', word: 'Deleted' },
};

export function Status({ state }: { state: string }) {
  const { tone, word } = STATES[state] ?? { tone: 'neutral' as const, word: state };
  return <Badge tone={tone}>{word}</Badge>;
}

export function SimulatedPayments() {
  return (
    <p role="note" class="mb-5 flex flex-wrap items-center gap-3 text-dim">
      <Badge tone="busy">Simulated payments</Badge>
      No money is taken. Pay with one of Stripe’s test cards.
    </p>
  );
}
