import { type ComponentChildren, createContext } from 'preact';
import { useCallback, useContext, useEffect, useMemo, useRef, useState } from 'preact/hooks';
import type { Me } from '../../server/src/site/account/me.ts';
import { type ApiFailure, api, whenSignedOut } from './api.ts';
import { asFailure, useListener } from './load.ts';
import {
  chooseMode,
  forgetIfSignedOut,
  forgetPerson,
  ignoringErrors,
  keepFor,
  whenForgotten,
  windowMode,
} from './personal.ts';
import type { Mode } from './site-api.ts';

type SessionState =
  /** `wasIn`: this browser was signed in at its last visit. */
  | { kind: 'loading'; wasIn: boolean }
  | { kind: 'unknown'; error: ApiFailure }
  /** `hasEnded`: the session expired without a sign-out. */
  | { kind: 'out'; hasEnded: boolean }
  | { kind: 'in'; me: Me };

interface Session {
  state: SessionState;
  /** Reloads the account and its balance: call it after anything that moves credits. */
  refresh(): Promise<void>;
  /** Switches this window's mode, once the new balance is loaded. */
  switchTo(mode: Mode): Promise<void>;
  signOut(): Promise<void>;
}

const Context = createContext<Session>({
  state: { kind: 'loading', wasIn: false },
  refresh: async () => {},
  switchTo: async () => {},
  signOut: async () => {},
});

export function SessionProvider({ children }: { children: ComponentChildren }) {
  const [state, setState] = useState<SessionState>(() => ({ kind: 'loading', wasIn: wasIn() }));
  const account = useRef<string | undefined>(undefined);
  const reads = useRef(0);
  /** The start of the latest read that found a session. */
  const knownSignedInAt = useRef(0);
  const refresh = useCallback(async () => {
    const mode = windowMode();
    reads.current += 1;
    const read = reads.current;
    const began = performance.now();
    const next = await readSession(mode);
    // Drops reads that began before a newer one, such as before a sign-in.
    if (read !== reads.current) return;
    if (next.kind === 'in') {
      const { account_id: id } = next.me;
      forgetIfSignedOut();
      keepFor(id);
      if (account.current !== undefined && account.current !== id) return location.assign('/');
      account.current = id;
      knownSignedInAt.current = began;
      // The mode was changed meanwhile, or belonged to another account.
      if (mode !== windowMode()) return refresh();
    }
    // A failed refresh keeps the old state: the page has its own error.
    setState((before) => {
      if (next.kind === 'out') return outAfter(before);
      return next.kind === 'unknown' && before.kind === 'in' ? before : next;
    });
  }, []);
  const switchTo = useCallback(async (mode: Mode) => {
    const me = await readMe(mode);
    chooseMode(mode);
    setState({ kind: 'in', me });
  }, []);
  useEffect(() => {
    // Ignores requests that began before a sign-in.
    whenSignedOut((sentAt) => sentAt >= knownSignedInAt.current && setState(outAfter));
    void refresh();
  }, [refresh]);
  // While this window was hidden, another one may have spent credits.
  useListener(['visibilitychange', 'focus'], () => {
    if (document.visibilityState === 'visible') void refresh();
  });
  useEffect(() => whenForgotten(() => location.assign('/')), []);
  useEffect(() => {
    if (state.kind === 'in' || state.kind === 'out') remember(state.kind === 'in');
  }, [state.kind]);
  const session = useMemo(() => ({ state, refresh, switchTo, signOut }), [state]);
  return <Context.Provider value={session}>{children}</Context.Provider>;
}

async function signOut(): Promise<void> {
  await api('POST /auth/sign-out').catch((error) => {
    const hadEnded = asFailure(error).status === 401;
    if (!hadEnded) throw error;
  });
  remember(false);
  forgetPerson();
  location.assign('/'); // a full reload, so that no account data stays in memory
}

const SIGNED_IN = 'signed-in';

/** Whether this browser was signed in: a hint for what to show until the session is loaded. */
function wasIn(): boolean {
  return ignoringErrors(() => localStorage.getItem(SIGNED_IN)) === 'yes';
}

function remember(isSignedIn: boolean): void {
  ignoringErrors(() =>
    isSignedIn ? localStorage.setItem(SIGNED_IN, 'yes') : localStorage.removeItem(SIGNED_IN),
  );
}

function outAfter(before: SessionState): SessionState {
  if (before.kind === 'out') return before;
  return {
    kind: 'out',
    hasEnded: before.kind === 'in' || (before.kind === 'loading' && before.wasIn),
  };
}

function readMe(mode: Mode): Promise<Me> {
  return api('GET /console/api/me', { query: { mode } });
}

async function readSession(mode: Mode): Promise<SessionState> {
  try {
    // Visitors ask for a session first: browsers would log the 401 of `readMe` as an error.
    const isOut = !wasIn() && !(await api('GET /console/api/site')).has_session;
    if (isOut) return { kind: 'out', hasEnded: false };
    return { kind: 'in', me: await readMe(mode) };
  } catch (error) {
    const failure = asFailure(error);
    const isOut = failure.status === 401 || failure.status === 404;
    return isOut ? { kind: 'out', hasEnded: false } : { kind: 'unknown', error: failure };
  }
}

export function useSession(): Session {
  return useContext(Context);
}

/** The signed-in account; only for pages that need a session. */
export function useMe(): Me {
  const { state } = useSession();
  if (state.kind !== 'in') throw new Error('this page needs a session');
  return state.me;
}

/**
 * The price to show for live credits; null in test mode, or if none are sold or nobody is signed
 * in.
 */
export function rateOf(state: SessionState) {
  return state.kind === 'in' && state.me.mode === 'live' ? state.me.rate : null;
}

/** Whether the page shows and spends the account's live or its test credits. */
export function useMode(): Mode {
  return useMe().mode;
}

export function availableOf({ mode, credits }: Me): number {
  return mode === 'test' ? credits.test : credits.paid + credits.promotional;
}
