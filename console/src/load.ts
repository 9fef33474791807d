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

/** Reads again what failed without a connection, when there is one. */
function useReconnect(error: ApiFailure | undefined, reload: () => Promise<void>): void {
  const isOffline = error?.isOffline ?? false;
  useEffect(() => {
    if (!isOffline) return;
    const onOnline = () => void reload();
    addEventListener('online', onOnline);
    return () => removeEventListener('online', onOnline);
  }, [isOffline, reload]);
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
  useReconnect(isCurrent ? state.error : undefined, reload);
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
  parts: Part<Item>[];
  error: ApiFailure | undefined;
  isLoading: boolean;
  hasMore: boolean;
  more(): Promise<void>;
  /** Reads again as many parts as are shown. */
  reload(): Promise<void>;
}

function withCursor(path: string, cursor: string | null | undefined): string {
  if (!cursor) return path;
  return `${path}${path.includes('?') ? '&' : '?'}cursor=${encodeURIComponent(cursor)}`;
}

/** Reads this many parts of a list, one after the other, or fewer if it ends before. */
async function readParts<Item>(path: string, count: number, signal: AbortSignal) {
  const parts = [await api<Part<Item>>(path, { signal })];
  while (parts.length < count && parts.at(-1)?.next) {
    parts.push(await api<Part<Item>>(withCursor(path, parts.at(-1)?.next), { signal }));
  }
  return parts;
}

/**
 * Reads a list of the API part by part. `path` may have a query; the cursor is added to it.
 * @param before the parts that were shown here earlier: they are shown until they are read again
 */
export function useList<Item>(path: string, before: Part<Item>[] = []): LoadedList<Item> {
  const [state, setState] = useState<{ path: string; parts: Part<Item>[]; error?: ApiFailure }>({
    path,
    parts: before,
  });
  const [isLoading, setLoading] = useState(true);
  const request = useRef<AbortController>(undefined);
  const parts = state.path === path ? state.parts : [];
  const shown = useRef(parts);
  shown.current = parts;
  const read = useCallback(
    async (work: (signal: AbortSignal) => Promise<Part<Item>[]>) => {
      request.current?.abort();
      const current = new AbortController();
      request.current = current;
      setLoading(true);
      const result = await work(current.signal).then(
        (next) => ({ path, parts: next }),
        (error) => ({ path, parts: shown.current, error: asFailure(error) }),
      );
      if (current.signal.aborted) return;
      setState(result);
      setLoading(false);
    },
    [path],
  );
  const reload = useCallback(
    () => read((signal) => readParts(path, shown.current.length, signal)),
    [read],
  );
  useEffect(() => {
    void reload();
    return () => request.current?.abort();
  }, [reload]);
  useReconnect(state.path === path ? state.error : undefined, reload);
  const next = parts.at(-1)?.next;
  return {
    items: parts.length > 0 ? parts.flatMap(({ items }) => items) : undefined,
    parts,
    error: state.path === path ? state.error : undefined,
    isLoading: isLoading || state.path !== path,
    hasMore: next != null,
    async more() {
      if (!next || isLoading) return;
      await read(async (signal) => [
        ...parts,
        await api<Part<Item>>(withCursor(path, next), { signal }),
      ]);
    },
    reload,
  };
}
