import type { Mode } from './site-api.ts';

/** Changes with each sign-out in this browser, to notify its other windows. */
const SIGN_OUTS = 'sign-outs';
const OWNER = 'owner';
/** sessionStorage has this window's mode, localStorage the browser's last choice. */
const MODE = 'mode';

/** @returns undefined if `work` throws, as browser storage does when it is disabled or full */
export function ignoringErrors<Result>(work: () => Result): Result | undefined {
  try {
    return work();
  } catch {
    return undefined;
  }
}

const asMode = (text: string | null) => (text === 'test' || text === 'live' ? text : undefined);

/** Links select a mode with `?mode=`, which is then removed from the URL. */
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

/** This window's mode; a new window starts with the last choice. */
export function windowMode(): Mode {
  const kept = () => asMode(sessionStorage.getItem(MODE) ?? localStorage.getItem(MODE));
  chosen ??= linked ?? ignoringErrors(kept) ?? 'live';
  return chosen;
}

export function chooseMode(mode: Mode): void {
  chosen = mode;
  ignoringErrors(() => {
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

/** Removes personal data from all windows of this browser, after a sign-out. */
export function forgetPerson(): void {
  ignoringErrors(() => {
    localStorage.setItem(SIGN_OUTS, crypto.randomUUID());
    localStorage.removeItem(MODE);
    forgetHere();
  });
}

/** Removes this window's data if there was a sign-out while it was not running. */
export function forgetIfSignedOut(): void {
  ignoringErrors(() => {
    if (localStorage.getItem(SIGN_OUTS) !== sessionStorage.getItem(SIGN_OUTS)) forgetHere();
  });
}

/** Calls the listener after a sign-out in another window; this window's data is then gone. */
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
 * Removes this window's data about other accounts. This account's stays, even if the session had
 * expired: a request without a response is resent with its Idempotency-Key.
 */
export function keepFor(accountId: string): void {
  ignoringErrors(() => {
    const owner = sessionStorage.getItem(OWNER);
    if (owner !== null && owner !== accountId) {
      localStorage.removeItem(MODE);
      forgetHere();
    }
    sessionStorage.setItem(OWNER, accountId);
    sessionStorage.setItem(MODE, windowMode()); // keeps a link's mode across reloads
  });
}

/** Whether this window still holds an account's data; false after a sign-out. */
export function isKeptFor(accountId: string): boolean {
  return ignoringErrors(() => sessionStorage.getItem(OWNER)) === accountId;
}
