import type { ComponentChildren } from 'preact';
import { useId, useState } from 'preact/hooks';

interface Tab {
  id: string;
  title: string;
  content: ComponentChildren;
}

interface Props {
  label: string;
  tabs: Tab[];
}

const TAB =
  '-mb-px border-b-2 border-transparent py-2 text-sm font-medium text-dim outline-offset-[-2px] hover:text-ink aria-selected:border-tungsten aria-selected:text-ink';

/** Tabs with arrow keys, as the ARIA pattern describes them. */
export function Tabs({ label, tabs }: Props) {
  const base = useId();
  const [chosen, setChosen] = useState(tabs[0]?.id ?? '');
  const current = tabs.find(({ id }) => id === chosen) ?? tabs[0];
  const move = (event: KeyboardEvent) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step || !current) return;
    const next = tabs[(tabs.indexOf(current) + step + tabs.length) % tabs.length];
    if (!next) return;
    setChosen(next.id);
    document.getElementById(`${base}-${next.id}`)?.focus();
  };
  return (
    <div>
      <div class="flex items-end justify-between border-b border-line">
        <div role="tablist" aria-label={label} class="flex gap-5 overflow-x-auto" onKeyDown={move}>
          {tabs.map(({ id, title }) => (
            <button
              key={id}
              id={`${base}-${id}`}
              type="button"
              role="tab"
              aria-selected={id === current?.id}
              aria-controls={`${base}-panel`}
              tabIndex={id === current?.id ? 0 : -1}
              onClick={() => setChosen(id)}
              class={TAB}
            >
              {title}
            </button>
          ))}
        </div>
      </div>
      <div
        id={`${base}-panel`}
        role="tabpanel"
        aria-labelledby={`${base}-${current?.id}`}
        class="pt-4"
      >
        {current?.content}
      </div>
    </div>
  );
}
