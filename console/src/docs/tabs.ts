import { ignoringErrors } from '../personal.ts';
import { element } from './element.ts';

const REMEMBERED = 'docs-tab';

type Choose = (name: string) => void;

/** Shows one sample per group. A choice applies to all groups and pages. */
export function makeTabs(): void {
  const groups: Choose[] = [];
  const chooseAll = (name: string) => {
    for (const choose of groups) choose(name);
    ignoringErrors(() => localStorage.setItem(REMEMBERED, name));
  };
  for (const [at, samples] of document.querySelectorAll<HTMLElement>('.docs-tabs').entries()) {
    groups.push(...groupOf(samples, at, chooseAll));
  }
  const remembered = ignoringErrors(() => localStorage.getItem(REMEMBERED));
  if (remembered) for (const choose of groups) choose(remembered);
}

function groupOf(samples: HTMLElement, at: number, onChosen: Choose): Choose[] {
  const panels = [...samples.querySelectorAll<HTMLElement>('[data-tab]')];
  if (panels.length < 2) return [];
  const tabs = panels.map((panel, index) => tabOf(panel, `docs-${at}-${index}`, onChosen));
  const list = element('div', { role: 'tablist', 'aria-label': 'Tool' }, ...tabs);
  list.addEventListener('keydown', (event) => moveFocus(event, tabs));
  samples.prepend(list);
  samples.classList.add('is-tabbed');
  const choose = (name: string) => {
    if (!panels.some(({ dataset }) => dataset.tab === name)) return;
    for (const [index, panel] of panels.entries()) {
      const isChosen = panel.dataset.tab === name;
      panel.hidden = !isChosen;
      tabs[index]?.setAttribute('aria-selected', String(isChosen));
      if (tabs[index]) tabs[index].tabIndex = isChosen ? 0 : -1;
    }
  };
  choose(panels[0]?.dataset.tab ?? '');
  return [choose];
}

function tabOf(panel: HTMLElement, id: string, onChosen: Choose): HTMLElement {
  const name = panel.dataset.tab ?? '';
  const attributes = { type: 'button', id, role: 'tab', 'aria-controls': `${id}-panel` };
  const tab = element('button', attributes, name);
  panel.id = `${id}-panel`;
  panel.setAttribute('role', 'tabpanel');
  panel.setAttribute('aria-labelledby', id);
  tab.addEventListener('click', () => onChosen(name));
  return tab;
}

function moveFocus(event: KeyboardEvent, tabs: HTMLElement[]): void {
  const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
  if (step === undefined) return;
  const at = tabs.indexOf(document.activeElement as HTMLElement);
  const next = tabs[(at + step + tabs.length) % tabs.length];
  next?.click();
  next?.focus();
}
