import { element } from './element.ts';
import { type Found, openFinder, type Row } from './find.ts';

/** Adds the search. Its index is loaded when the field first gets the focus. */
export function addSearch(): void {
  const place = document.getElementById('docs-search');
  if (!place) return;
  const field = element('input', {
    type: 'search',
    placeholder: 'Search  /',
    autocomplete: 'off',
    role: 'combobox',
    'aria-label': 'Search the documentation',
    'aria-expanded': 'false',
    'aria-controls': 'docs-found',
  });
  const results = element('ul', {
    id: 'docs-found',
    role: 'listbox',
    'aria-label': 'Results',
    hidden: '',
  });
  place.replaceChildren(field, results);
  let finder: Promise<Finder> | undefined;
  field.addEventListener('focus', () => {
    finder ??= loadFinder();
  });
  field.addEventListener('input', async () => {
    finder ??= loadFinder();
    const found = (await finder)(field.value);
    show(found, field, results);
  });
  field.addEventListener('keydown', (event) => move(event, field, results));
  field.addEventListener('blur', () =>
    setTimeout(() => document.activeElement !== field && close(field, results), 150),
  );
  addEventListener('keydown', (event) => {
    const isTyping = event.target instanceof HTMLElement && event.target.matches('input, textarea');
    if (event.key !== '/' || isTyping) return;
    event.preventDefault();
    field.focus();
  });
}

type Finder = ReturnType<typeof openFinder>;

async function loadFinder(): Promise<Finder> {
  const book = location.pathname.startsWith('/docs/operations') ? '/docs/operations' : '/docs';
  const [{ default: Search }, rows] = await Promise.all([
    import('minisearch'),
    fetch(`${book}/search.json`).then((response) => response.json() as Promise<Row[]>),
  ]);
  return openFinder(Search, rows);
}

function show(found: Found[], field: HTMLInputElement, results: HTMLElement): void {
  results.replaceChildren(...found.map((result, at) => optionOf(result, at)));
  if (found.length === 0) {
    const words = 'Nothing found. Try fewer or other words.';
    results.append(element('li', { role: 'option', 'aria-disabled': 'true' }, words));
  }
  results.hidden = field.value.trim() === '';
  field.setAttribute('aria-expanded', String(!results.hidden));
  field.removeAttribute('aria-activedescendant');
}

function optionOf({ id, page, heading }: Found, at: number): HTMLElement {
  const attributes = { id: `docs-found-${at}`, role: 'option', 'aria-selected': 'false' };
  const option = element('li', attributes, heading, element('small', {}, page));
  option.addEventListener('click', () => location.assign(id));
  return option;
}

/** Arrow keys move through results, Enter opens one, Escape closes the list. */
function move(event: KeyboardEvent, field: HTMLInputElement, results: HTMLElement): void {
  const options = [...results.querySelectorAll<HTMLElement>('[role=option]:not([aria-disabled])')];
  const at = options.findIndex((option) => option.getAttribute('aria-selected') === 'true');
  if (event.key === 'Escape') close(field, results);
  if (event.key === 'Enter') options[Math.max(at, 0)]?.click();
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (step === undefined || options.length === 0) return;
  event.preventDefault();
  const next = options[(Math.max(at, step > 0 ? -1 : 0) + step + options.length) % options.length];
  for (const option of options) option.setAttribute('aria-selected', String(option === next));
  field.setAttribute('aria-activedescendant', next?.id ?? '');
  next?.scrollIntoView({ block: 'nearest' });
}

function close(field: HTMLInputElement, results: HTMLElement): void {
  results.hidden = true;
  field.setAttribute('aria-expanded', 'false');
}
