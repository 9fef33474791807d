import { useEffect, useState } from 'preact/hooks';
import { useLoad } from '../../load.ts';
import { useMode } from '../../session.tsx';
import { Button } from '../../ui/button.tsx';
import { Select } from '../../ui/form/controls.tsx';
import { Field, type TextProps } from '../../ui/form/field.tsx';

/** The list's filters in the page's URL: `text`, `state`, `model` and so on. */
export type Filters = Partial<Record<(typeof NAMES)[number], string>>;

const NAMES = ['text', 'state', 'starred', 'model', 'key', 'surface', 'tag', 'from', 'to'] as const;

/** So many of the names, from the first on, are always visible. */
const ALWAYS_VISIBLE = 3;

export function filtersOf(query: Record<string, string>): Filters {
  return Object.fromEntries(NAMES.flatMap((name) => (query[name] ? [[name, query[name]]] : [])));
}

export function queryOf(filters: Filters): string {
  const query = new URLSearchParams(filters as Record<string, string>).toString();
  return query === '' ? '' : `?${query}`;
}

const STATES = {
  '': 'Any status',
  processing: 'Processing',
  completed: 'Completed',
  failed: 'Failed',
};

const TYPING_MS = 400;

interface FilterProps {
  filters: Filters;
  /** `replace`: more typing in the same search replaces its history entry. */
  onChange: (filters: Filters, replace?: boolean) => void;
}

/** The list's filters. Rare ones are folded away until used. */
export function FilterBar({ filters, onChange }: FilterProps) {
  const mode = useMode();
  const { data } = useLoad('/console/api/task-filters', { query: { mode } });
  const tags = data?.tags ?? (filters.tag ? [filters.tag] : []);
  const keys = (data?.keys ?? []).map(({ id, name }) => ({ value: id, label: name ?? id }));
  const field = (name: keyof Filters) => ({
    value: filters[name] ?? '',
    onChange(value: string) {
      const { [name]: _, ...others } = filters;
      const replace = name === 'text' && filters.text !== undefined && value !== '';
      onChange(value === '' ? others : { ...others, [name]: value }, replace);
    },
  });
  const isFiltered = Object.keys(filters).length > 0;
  return (
    <search aria-label="Videos" class="grid gap-4">
      <div class="grid grid-cols-[1fr_auto] items-end gap-4 sm:grid-cols-[1fr_12rem_auto]">
        <div class="max-sm:col-span-2">
          <SearchField {...field('text')} />
        </div>
        <Select label="Status" choices={STATES} {...field('state')} />
        <StarFilter {...field('starred')} />
      </div>
      <details open={NAMES.slice(ALWAYS_VISIBLE).some((name) => filters[name] !== undefined)}>
        <summary class="w-fit cursor-pointer py-1 text-dim hover:text-ink">More filters</summary>
        <div class="mt-3 grid gap-4 sm:grid-cols-2 lg:grid-cols-5">
          <Select
            label="Model"
            choices={[ANY_MODEL, ...(data?.models ?? [])]}
            {...field('model')}
          />
          <Select label="API key" choices={[ANY_KEY, ...keys]} {...field('key')} />
          {mode === 'live' && (
            <Select label="Created through" choices={SURFACES} {...field('surface')} />
          )}
          {tags.length > 0 && <Select label="Tag" choices={[ANY_TAG, ...tags]} {...field('tag')} />}
          <Field label="From (UTC)" type="date" {...field('from')} />
          <Field label="To (UTC)" type="date" {...field('to')} />
        </div>
      </details>
      {isFiltered && (
        <div>
          <Button small icon="cross" onClick={() => onChange({})}>
            Clear filters
          </Button>
        </div>
      )}
    </search>
  );
}

function SearchField({ value: text, onChange }: Control) {
  const [typed, setTyped] = useState(text);
  useEffect(() => setTyped(text), [text]);
  useEffect(() => {
    if (typed.trim() === text) return;
    const timer = setTimeout(() => onChange(typed.trim()), TYPING_MS);
    return () => clearTimeout(timer);
  }, [typed]);
  return (
    <Field
      label="Search"
      placeholder="Prompt, name, tag or seed"
      type="search"
      maxLength={200}
      value={typed}
      onChange={setTyped}
    />
  );
}

type Control = Pick<TextProps, 'value' | 'onChange'>;

function StarFilter({ value, onChange }: Control) {
  const isOn = value !== '';
  return (
    <Button
      icon="star"
      look={isOn ? 'primary' : 'plain'}
      aria-pressed={isOn}
      onClick={() => onChange(isOn ? '' : 'yes')}
    >
      Starred
    </Button>
  );
}

const SURFACES = { '': 'Website or API', web: 'Website', api: 'API' };
const ANY_MODEL = { value: '', label: 'Any model' };
const ANY_TAG = { value: '', label: 'Any tag' };
const ANY_KEY = { value: '', label: 'Any API key' };
