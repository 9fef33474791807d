import { useEffect, useState } from 'preact/hooks';
import { Button, IconButton } from './button.tsx';
import { Tabs } from './tabs.tsx';

const COPIED_SECONDS = 2;

interface CopyButtonProps {
  text: string;
  words?: string;
  label: string;
  onCopied?: () => void;
}

/** Copies a text. Without a label it shows only an icon. */
export function CopyButton({ text, words, label, onCopied = () => {} }: CopyButtonProps) {
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
        <Button small icon={icon} onClick={() => void copy()}>
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

/** A request in several languages, such as `{ curl, TypeScript, Python }`. */
export function CodeTabs({ label, samples }: { label: string; samples: Record<string, string> }) {
  return (
    <Tabs
      label={label}
      tabs={Object.entries(samples).map(([name, text]) => ({
        id: name.toLowerCase(),
        title: name,
        content: <Code text={text} label={`${label}, ${name}`} />,
      }))}
    />
  );
}
