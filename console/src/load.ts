import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import { ApiFailure, api } from './api.ts';

/** What a page knows about data that it asked for. While data is read again, the old data stays. */
export interface Loaded<Data> {
  data: Data | undefined;
  error: ApiFailure | undefined;
  isLoading: boolean;
  /** Reads it again. */
  reload(): Promise<void>;
  /** Replaces the data, for instance with the response to a change. */
  set(data: Data): void;
}

/** What an error of any kind is to the pages. */
export function asFailure(error: unknown): ApiFailure {
  if (error instanceof ApiFailure) return error;
  const message = error instanceof Error ? error.message : String(error);
  return new ApiFailure(message, { status: 0, code: 'internal_error' });
}

/**
 * Reads a path of the API, and again when the path changes. A response that comes after a newer
 * request is dropped.
 * @param path undefined: nothing is read yet
 */
export function useLoad<Data>(path: string | undefined): Loaded<Data> {
  const [state, setState] = useState<{
    path?: string | undefined;
    data?: Data;
    error?: ApiFailure;
  }>({});
  const [isLoading, setLoading] = useState(path !== undefined);
  const request = useRef<AbortController>(undefined);
  const reload = useCallback(async () => {
    request.current?.abort();
    if (path === undefined) return;
    const current = new AbortController();
    const { signal } = current;
    request.current = current;
    setLoading(true);
    const result = await api<Data>(path, { signal }).then(
      (data) => ({ path, data }),
      (error) => ({ path, error: asFailure(error) }),
    );
    if (signal.aborted) return;
    setState((before) => ('data' in result ? result : { ...before, ...result }));
    setLoading(false);
  }, [path]);
  useEffect(() => {
    void reload();
    return () => request.current?.abort();
  }, [reload]);
  const isCurrent = state.path === path;
  return {
    data: isCurrent ? state.data : undefined,
    error: isCurrent ? state.error : undefined,
    isLoading: isLoading || !isCurrent,
    reload,
    set: (data) => setState({ path, data }),
  };
}

/** Whether the API has responded that there is no such thing. */
export function isMissing({ data, error }: Pick<Loaded<unknown>, 'data' | 'error'>): boolean {
  return data === undefined && error?.status === 404;
}

/** One part of a list, as the API sends it. */
export interface Part<Item> {
  items: Item[];
  /** The cursor of the next part; null at the end. */
  next: string | null;
}

/** A list that grows by "Show more". */
export interface LoadedList<Item> {
  items: Item[] | undefined;
  error: ApiFailure | undefined;
  isLoading: boolean;
  hasMore: boolean;
  more(): Promise<void>;
  /** Reads the first part again, and drops the others. */
  reload(): Promise<void>;
}

/** Reads a list of the API part by part. `path` may have a query; the cursor is added to it. */
export function useList<Item>(path: string): LoadedList<Item> {
  const first = useLoad<Part<Item>>(path);
  const [rest, setRest] = useState<{ of?: Part<Item>; parts: Part<Item>[]; error?: ApiFailure }>({
    parts: [],
  });
  const [isAdding, setAdding] = useState(false);
  const parts = rest.of === first.data ? rest.parts : [];
  const last = parts.at(-1) ?? first.data;
  const more = async () => {
    if (!last?.next || isAdding || !first.data) return;
    const of = first.data;
    setAdding(true);
    const cursor = `${path.includes('?') ? '&' : '?'}cursor=${encodeURIComponent(last.next)}`;
    const result = await api<Part<Item>>(path + cursor).then(
      (part) => ({ of, parts: [...parts, part] }),
      (error) => ({ of, parts, error: asFailure(error) }),
    );
    setRest(result);
    setAdding(false);
  };
  return {
    items: first.data && [first.data, ...parts].flatMap(({ items }) => items),
    error: first.error ?? (rest.of === first.data ? rest.error : undefined),
    isLoading: first.isLoading || isAdding,
    hasMore: last?.next != null,
    more,
    reload: first.reload,
  };
}
