import type { Mode } from './site-api.ts';

/** Changes with each sign-out in this browser, which tells its other windows. */
const SIGN_OUTS = 'sign-outs';
/** The account whose data this window keeps. */
const OWNER = 'owner';
/** This window's in sessionStorage; the last choice of the browser in localStorage. */
const MODE = 'mode';

/** Runs work with the browser's storage, which may be switched off or full. */
export function trying<Result>(work: () => Result): Result | undefined {
  try {
    return work();
  } catch {
    return undefined;
  }
}

const asMode = (text: string | null) => (text === 'test' || text === 'live' ? text : undefined);

/** Links to one side of the account say so by `?mode=`, which is then removed. */
function modeOfLink(): Mode | undefined {
  const url = new URL(location.href);
  const mode = asMode(url.searchParams.get(MODE));
  if (mode === undefined) return undefined;
  url.searchParams.delete(MODE);
  history.replaceState(history.state, '', url);
  return mode;
}

const linked = modeOfLink();
let chosen: Mode | undefined;

/** The mode of this window. A new window begins with the last choice. */
export function windowMode(): Mode {
  const kept = () => asMode(sessionStorage.getItem(MODE) ?? localStorage.getItem(MODE));
  chosen ??= linked ?? trying(kept) ?? 'live';
  return chosen;
}

/** Keeps the mode that was chosen in this window. */
export function chooseMode(mode: Mode): void {
  chosen = mode;
  trying(() => {
    sessionStorage.setItem(MODE, mode);
    localStorage.setItem(MODE, mode);
  });
}

function forgetHere(): void {
  chosen = undefined;
  sessionStorage.clear();
  const signOuts = localStorage.getItem(SIGN_OUTS);
  if (signOuts !== null) sessionStorage.setItem(SIGN_OUTS, signOuts);
}

/** Removes what the windows of this browser keep of a person: after a sign-out. */
export function forgetPerson(): void {
  trying(() => {
    localStorage.setItem(SIGN_OUTS, crypto.randomUUID());
    localStorage.removeItem(MODE);
    forgetHere();
  });
}

/** Removes what this window keeps, if there was a sign-out while it was not running. */
export function forgetIfSignedOut(): void {
  trying(() => {
    if (localStorage.getItem(SIGN_OUTS) !== sessionStorage.getItem(SIGN_OUTS)) forgetHere();
  });
}

/** Calls the listener after a sign-out in another window; nothing is kept here then. */
export function whenForgotten(listener: () => void): () => void {
  const onStorage = ({ key }: StorageEvent) => {
    if (key !== SIGN_OUTS) return;
    forgetIfSignedOut();
    listener();
  };
  addEventListener('storage', onStorage);
  return () => removeEventListener('storage', onStorage);
}

/**
 * Removes what this window keeps of another account. What it keeps of this one stays, also when the
 * session had ended by itself: a request without a response is sent again with its key.
 */
export function keepFor(accountId: string): void {
  trying(() => {
    const owner = sessionStorage.getItem(OWNER);
    if (owner !== null && owner !== accountId) {
      localStorage.removeItem(MODE);
      forgetHere();
    }
    sessionStorage.setItem(OWNER, accountId);
    sessionStorage.setItem(MODE, windowMode()); // also that of a link, over a reload
  });
}

/** Whether this window still keeps what belongs to an account; not after a sign-out. */
export function isKeptFor(accountId: string): boolean {
  return trying(() => sessionStorage.getItem(OWNER)) === accountId;
}
