/** The list of all pages is folded on a phone, where it would stand above the text. */
export function closeContentsOnPhone(): void {
  const contents = document.querySelector<HTMLDetailsElement>('.docs-contents');
  const wide = matchMedia('(min-width: 64rem)');
  const fold = () => contents?.toggleAttribute('open', wide.matches);
  wide.addEventListener('change', fold);
  fold();
  contents?.classList.add('is-ready');
  const current = contents?.querySelector<HTMLElement>('[aria-current]');
  if (!contents || !current) return;
  // Its column scrolls by itself.
  contents.scrollTop = current.offsetTop - contents.clientHeight / 2;
}

/** Opens the folded part that the address leads to. */
export function openFromAddress(): void {
  const open = () => {
    const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (target instanceof HTMLDetailsElement) target.open = true;
  };
  addEventListener('hashchange', open);
  open();
}
