/** The focused element and its ancestors, each with its siblings, which a removed element loses. */
type Place = { element: Element; next: Element | null; previous: Element | null }[];

const ROW = 'tr, li';
const SECTION = 'section[aria-labelledby], dialog[open], main';

export function placeOf(focused: Element | null): Place {
  const place: Place = [];
  for (let element = focused; element; element = element.parentElement) {
    const { nextElementSibling: next, previousElementSibling: previous } = element;
    place.push({ element, next, previous });
  }
  return place;
}

/** Focuses the element; if it is gone, the row below or above, or the section's heading. */
export function returnTo(place: Place): void {
  const at = place.findIndex(({ element }) => element.isConnected);
  const removed = place[at - 1];
  const target = removed
    ? (rowBeside(removed) ?? headingOf(place[at]?.element))
    : place[0]?.element;
  if (!(target instanceof HTMLElement)) return;
  if (removed && !target.hasAttribute('tabindex')) target.tabIndex = -1;
  target.focus({ preventScroll: true });
}

function rowBeside({ next, previous }: Place[number]): Element | undefined {
  if (next?.isConnected && next.matches(ROW)) return next;
  if (!previous?.isConnected) return undefined;
  // A button below a list was removed: use the last row.
  return previous.matches(ROW) ? previous : [...previous.querySelectorAll(ROW)].at(-1);
}

function headingOf(element: Element | undefined): Element | null {
  const section = element?.closest(SECTION) ?? document.querySelector('main');
  return section?.querySelector('h1, h2') ?? section;
}

/** After a removal, how long to wait for the page to focus something itself. */
const GRACE_MS = 100;

/** Moves the focus nearby whenever the focused element is removed. */
export function keepFocus(): void {
  let place: Place = [];
  document.addEventListener('focusin', ({ target }) => {
    place = target instanceof Element ? placeOf(target) : [];
  });
  document.addEventListener('focusout', ({ target }) =>
    queueMicrotask(() => {
      const hasLeft = target === place[0]?.element && target !== document.activeElement;
      // The user left an element that still exists: nothing to restore.
      if (hasLeft && target instanceof Element && target.isConnected) place = [];
    }),
  );
  new MutationObserver(() => {
    const lost = place;
    if (lost[0]?.element.isConnected !== false) return;
    setTimeout(() => {
      if (lost === place && document.activeElement === document.body) returnTo(lost);
    }, GRACE_MS);
  }).observe(document.body, { childList: true, subtree: true });
}
