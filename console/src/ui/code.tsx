import { useEffect, useId, useState } from 'preact/hooks';
import { Button, IconButton } from './button.tsx';

const COPIED_SECONDS = 2;

interface CopyButtonProps {
  text: string;
  words?: string;
  look?: 'plain' | 'primary';
  label: string;
  onCopied?: () => void;
}

export function CopyButton({
  text,
  words,
  look = 'plain',
  label,
  onCopied = () => {},
}: CopyButtonProps) {
  const [outcome, setOutcome] = useState<'copied' | 'failed'>();
  useEffect(() => {
    const timer = setTimeout(() => setOutcome(undefined), COPIED_SECONDS * 1000);
    return () => clearTimeout(timer);
  }, [outcome]);
  const copy = () =>
    navigator.clipboard.writeText(text).then(
      () => {
        setOutcome('copied');
        onCopied();
      },
      () => setOutcome('failed'),
    );
  const said = outcome === 'copied' ? 'Copied' : outcome === 'failed' ? 'Copy it by hand' : '';
  const icon = outcome === 'copied' ? 'check' : 'copy';
  return (
    <span class="inline-flex items-center gap-1">
      {words ? (
        <Button small={look === 'plain'} look={look} icon={icon} onClick={() => void copy()}>
          {said || words}
        </Button>
      ) : (
        <IconButton icon={icon} label={said || label} onClick={() => void copy()} />
      )}
      <span role="status" class="sr-only">
        {said}
      </span>
    </span>
  );
}

export function Code({ text, label }: { text: string; label: string }) {
  return (
    <div class="flex items-start border border-line bg-well">
      <pre role="region" tabIndex={0} aria-label={label} class={PRE}>
        {text}
      </pre>
      <div class="p-1">
        <CopyButton text={text} label={`Copy: ${label}`} />
      </div>
    </div>
  );
}

const PRE =
  'min-w-0 flex-1 overflow-x-auto p-4 pr-2 font-mono text-sm leading-relaxed [font-variant-ligatures:none]';

const TAB =
  '-mb-px border-b-2 border-transparent py-2 text-sm font-medium text-dim outline-offset-[-2px] hover:text-ink aria-selected:border-tungsten aria-selected:text-ink';

/** Samples in tabs that the arrow keys switch, as in the ARIA pattern for tabs. */
export function CodeTabs({ label, samples }: { label: string; samples: Record<string, string> }) {
  const base = useId();
  const names = Object.keys(samples);
  const [current = '', setCurrent] = useState(names[0]);
  const move = (event: KeyboardEvent) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    const next = names[(names.indexOf(current) + step + names.length) % names.length];
    setCurrent(next);
    document.getElementById(`${base}-${next}`)?.focus();
  };
  return (
    <div>
      <div class="flex items-end justify-between border-b border-line">
        <div role="tablist" aria-label={label} class="flex gap-5 overflow-x-auto" onKeyDown={move}>
          {names.map((name) => (
            <button
              key={name}
              id={`${base}-${name}`}
              type="button"
              role="tab"
              aria-selected={name === current}
              aria-controls={`${base}-panel`}
              tabIndex={name === current ? 0 : -1}
              onClick={() => setCurrent(name)}
              class={TAB}
            >
              {name}
            </button>
          ))}
        </div>
      </div>
      <div id={`${base}-panel`} role="tabpanel" aria-labelledby={`${base}-${current}`} class="pt-4">
        <Code text={samples[current] ?? ''} label={`${label}, ${current}`} />
      </div>
    </div>
  );
}
