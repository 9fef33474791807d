import { useLayoutEffect, useState } from 'preact/hooks';
import { ignoringErrors } from './personal.ts';

export interface Draft<Value> {
  value: Value;
  set(fields: Partial<Value>): void;
  change(next: (before: Value) => Value): void;
  /** Drops the draft: it was sent or cancelled. */
  drop(): void;
}

/** How a form's content is stored as JSON. */
interface Codec<Value> {
  encode(value: Value): unknown;
  decode(kept: unknown): Value | undefined;
}

/**
 * The content of a form. The window keeps it across reloads, crashes and expired sessions until it
 * is dropped; `personal.ts` removes it after a sign-out or for another account.
 * @param name the form's, with the id of the edited item if there are several
 */
export function useDraft<Value extends object>(
  name: string,
  initial: () => Value,
  codec: Codec<Value> = plainCodec(initial),
): Draft<Value> {
  const [key] = useState(`draft ${name}`);
  const [state, setState] = useState(() => {
    const value = ignoringErrors(() => {
      const kept = sessionStorage.getItem(key);
      return kept === null ? undefined : codec.decode(JSON.parse(kept));
    });
    return { value: value ?? initial(), isChanged: value !== undefined };
  });
  useLayoutEffect(() => {
    if (state.isChanged) keep(key, codec.encode(state.value));
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

/** For strings, numbers and booleans. Keeps the fields of an earlier release whose types fit. */
function plainCodec<Value extends object>(initial: () => Value): Codec<Value> {
  return {
    encode: (value) => value,
    decode(kept) {
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

/** Without browser storage, the draft lasts until the page is left. */
function keep(key: string, value: unknown): void {
  ignoringErrors(() => {
    if (value === undefined) sessionStorage.removeItem(key);
    else sessionStorage.setItem(key, JSON.stringify(value));
  });
}
