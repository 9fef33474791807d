/**
 * Where the focus is: the element and its ancestors, each with its siblings, since a removed
 * element has none.
 */
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

/**
 * Moves the focus to a place. If its element is gone, the row below or above it takes the focus,
 * or the heading of what it was in.
 */
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
  // A button below a list was removed: its last row.
  return previous.matches(ROW) ? previous : [...previous.querySelectorAll(ROW)].at(-1);
}

function headingOf(element: Element | undefined): Element | null {
  const section = element?.closest(SECTION) ?? document.querySelector('main');
  return section?.querySelector('h1, h2') ?? section;
}

/** A page that focuses a field itself does so within this time. */
const CHOICE_MS = 100;

/** Finds a new place for the focus whenever the element that has it is removed. */
export function keepFocus(): void {
  let place: Place = [];
  document.addEventListener('focusin', ({ target }) => {
    place = target instanceof Element ? placeOf(target) : [];
  });
  document.addEventListener('focusout', ({ target }) =>
    queueMicrotask(() => {
      const isLeft = target instanceof Element && target.isConnected;
      if (isLeft && target !== document.activeElement && target === place[0]?.element) place = [];
    }),
  );
  new MutationObserver(() => {
    const lost = place;
    if (lost[0]?.element.isConnected !== false) return;
    setTimeout(() => {
      if (lost === place && document.activeElement === document.body) returnTo(lost);
    }, CHOICE_MS);
  }).observe(document.body, { childList: true, subtree: true });
}
