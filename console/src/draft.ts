import { useLayoutEffect, useState } from 'preact/hooks';
import { trying } from './personal.ts';

export interface Draft<Value> {
  value: Value;
  set(change: Partial<Value>): void;
  change(next: (before: Value) => Value): void;
  /** Keeps it no longer: it was sent, or is not wanted any more. */
  drop(): void;
}

/** How the fields of a form are kept as JSON and read again, if not as they are. */
interface Form<Value> {
  keep(value: Value): unknown;
  read(kept: unknown): Value | undefined;
}

/**
 * What somebody enters into a form. The window keeps it over a reload, a crash and a session that
 * has ended, until it is dropped; `personal.ts` removes it at a sign-out and for another account.
 * @param name of the form; it has the id of what is changed, if there are several
 * @param initial what a new form holds
 */
export function useDraft<Value extends object>(
  name: string,
  initial: () => Value,
  form: Form<Value> = plain(initial),
): Draft<Value> {
  const [key] = useState(`draft ${name}`);
  const [state, setState] = useState(() => {
    const value = readKept(key, form);
    return { value: value ?? initial(), isChanged: value !== undefined };
  });
  useLayoutEffect(() => {
    if (state.isChanged) keep(key, form.keep(state.value));
  }, [state]);
  const change = (next: (before: Value) => Value) =>
    setState((before) => ({ value: next(before.value), isChanged: true }));
  return {
    value: state.value,
    change,
    set: (fields) => change((before) => ({ ...before, ...fields })),
    drop() {
      keep(key, undefined);
      setState(({ value }) => ({ value, isChanged: false }));
    },
  };
}

/** Fields that are texts, numbers and switches. Of an older release, those that still fit count. */
function plain<Value extends object>(initial: () => Value): Form<Value> {
  return {
    keep: (value) => value,
    read(kept) {
      if (typeof kept !== 'object' || kept === null) return undefined;
      const first = initial();
      const types = new Map(Object.entries(first).map(([field, value]) => [field, typeof value]));
      const fitting = Object.entries(kept).filter(
        ([field, value]) => typeof value === types.get(field),
      );
      return { ...first, ...Object.fromEntries(fitting) };
    },
  };
}

function readKept<Value>(key: string, form: Form<Value>): Value | undefined {
  return trying(() => {
    const kept = sessionStorage.getItem(key);
    return kept === null ? undefined : form.read(JSON.parse(kept));
  });
}

/** Without storage the draft lasts until the page is left. */
function keep(key: string, value: unknown): void {
  trying(() => {
    if (value === undefined) sessionStorage.removeItem(key);
    else sessionStorage.setItem(key, JSON.stringify(value));
  });
}
