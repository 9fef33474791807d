import '../styles/site.css';
import '../styles/docs.css';
import { element } from './element.ts';
import { addSearch } from './search.ts';
import { makeTabs } from './tabs.ts';
import { offerTestKey } from './test-key.ts';

// Progressive enhancement of the docs: without scripts all text is readable.
makeTabs();
offerTestKey();
addCopyButtons();
closeContentsOnPhone();
openLinkedDetails();
addSearch();

/** Folds the list of pages on a phone, where it would push the text down. */
function closeContentsOnPhone(): void {
  const contents = document.querySelector<HTMLDetailsElement>('.docs-contents');
  const wide = matchMedia('(min-width: 64rem)');
  const fold = () => contents?.toggleAttribute('open', wide.matches);
  wide.addEventListener('change', fold);
  fold();
  contents?.classList.add('is-ready');
  const current = contents?.querySelector<HTMLElement>('[aria-current]');
  if (!contents || !current) return;
  // The list may scroll apart from the text: show the current page in it.
  contents.scrollTop = current.offsetTop - contents.clientHeight / 2;
}

function openLinkedDetails(): void {
  const open = () => {
    const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (target instanceof HTMLDetailsElement) target.open = true;
  };
  addEventListener('hashchange', open);
  open();
}

const COPIED_SECONDS = 2;

function addCopyButtons(): void {
  for (const sample of document.querySelectorAll<HTMLElement>('.docs-code')) {
    const button = element('button', { type: 'button', class: 'docs-copy' }, 'Copy');
    button.addEventListener('click', () => void copy(button, sample));
    sample.append(button);
  }
}

async function copy(button: HTMLButtonElement, sample: HTMLElement): Promise<void> {
  const text = sample.querySelector('code')?.textContent ?? '';
  button.textContent = await navigator.clipboard.writeText(text).then(
    () => 'Copied',
    () => 'Copy it by hand',
  );
  setTimeout(() => {
    button.textContent = 'Copy';
  }, COPIED_SECONDS * 1000);
}
