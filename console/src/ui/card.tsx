import type { ComponentChildren } from 'preact';
import { useId } from 'preact/hooks';

interface CardProps {
  title?: string;
  note?: ComponentChildren;
  actions?: ComponentChildren;
  children?: ComponentChildren;
}

export function Card({ title, note, actions, children }: CardProps) {
  const id = useId();
  const head = title !== undefined && (
    <div class="mb-5 flex flex-wrap items-start justify-between gap-x-6 gap-y-3">
      <div class="max-w-[60ch]">
        <h2 id={id} class="text-heading">
          {title}
        </h2>
        {note && <p class="mt-1.5 text-dim">{note}</p>}
      </div>
      {actions && <div class="flex flex-wrap gap-2">{actions}</div>}
    </div>
  );
  return (
    <section
      class="border border-line bg-sheet p-5 sm:p-7"
      {...(title === undefined ? {} : { 'aria-labelledby': id })}
    >
      {head}
      {children}
    </section>
  );
}

interface Fact {
  name: string;
  /** Facts without a value are left out. */
  value: ComponentChildren;
  mono?: boolean;
}

export function Facts({ facts }: { facts: Fact[] }) {
  const known = facts.filter(({ value }) => value !== null && value !== undefined && value !== '');
  return (
    <dl class="grid gap-x-8 sm:grid-cols-[max-content_1fr]">
      {known.map(({ name, value, mono = false }) => (
        <div
          key={name}
          class="grid items-baseline border-t border-line py-2 first:border-0 sm:col-span-2 sm:grid-cols-subgrid"
        >
          <dt class="text-dim">{name}</dt>
          <dd class={`min-w-0 break-words ${mono ? 'figures' : ''}`}>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

interface FigureProps {
  name: string;
  note?: ComponentChildren;
  children: ComponentChildren;
}

export function Figure({ name, note, children }: FigureProps) {
  return (
    <div class="min-w-0 border-l border-edge pl-4">
      <p class="text-sm text-dim">{name}</p>
      <p class="figures mt-0.5 text-2xl leading-tight">{children}</p>
      {note && <p class="mt-1 text-sm text-dim">{note}</p>}
    </div>
  );
}
