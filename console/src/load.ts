import { useCallback, useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { ApiFailure, request } from './api.ts';
import { type AddressParts, filled, type Given, type ReadPath, type Result } from './site-api.ts';

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

/** One request at a time: its signal aborts when the next one begins. */
function useSignals() {
  return useMemo(() => {
    let running: AbortController | undefined;
    const abort = () => running?.abort();
    const begin = () => {
      abort();
      running = new AbortController();
      return running.signal;
    };
    return { abort, begin };
  }, []);
}

/** An address without what its path names is not known yet. */
function knownAddress(path: string, given: Given | undefined): string | undefined {
  return given === undefined && path.includes(':') ? undefined : filled(path, given);
}

/**
 * Reads a path of the API, and again when its address changes. A response that comes after a newer
 * request is dropped.
 * @param given undefined for a path that names something: nothing is read yet
 */
export function useLoad<Path extends ReadPath>(
  path: Path,
  ...given: AddressParts<Path> | [given: undefined]
): Loaded<Result<`GET ${Path}`>>;
export function useLoad(path: '/openapi.json'): Loaded<unknown>;
export function useLoad(path: string, given?: Given): Loaded<unknown> {
  const address = knownAddress(path, given);
  const [state, setState] = useState<{
    address?: string | undefined;
    data?: unknown;
    error?: ApiFailure;
  }>({});
  const [isLoading, setLoading] = useState(address !== undefined);
  const { abort, begin } = useSignals();
  const reload = useCallback(async () => {
    abort();
    if (address === undefined) return;
    const signal = begin();
    setLoading(true);
    const result = await request('GET', address, { signal }).then(
      (data) => ({ address, data }),
      (error) => ({ address, error: asFailure(error) }),
    );
    if (signal.aborted) return;
    setState((before) => ('data' in result ? result : { ...before, ...result }));
    setLoading(false);
  }, [address]);
  useEffect(() => {
    void reload();
    return abort;
  }, [reload]);
  const isCurrent = state.address === address;
  useReconnect(isCurrent ? state.error : undefined, reload);
  return {
    data: isCurrent ? state.data : undefined,
    error: isCurrent ? state.error : undefined,
    isLoading: isLoading || !isCurrent,
    reload,
    set: (data) => setState({ address, data }),
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

function withCursor(address: string, cursor: string | null | undefined): string {
  if (!cursor) return address;
  return `${address}${address.includes('?') ? '&' : '?'}cursor=${encodeURIComponent(cursor)}`;
}

async function readPart(address: string, signal: AbortSignal): Promise<Part<unknown>> {
  return (await request('GET', address, { signal })) as Part<unknown>;
}

/** Reads this many parts of a list, one after the other, or fewer if it ends before. */
async function readParts(address: string, count: number, signal: AbortSignal) {
  const parts = [await readPart(address, signal)];
  while (parts.length < count && parts.at(-1)?.next) {
    parts.push(await readPart(withCursor(address, parts.at(-1)?.next), signal));
  }
  return parts;
}

/** A path that gives a list in parts. */
type ListPath = {
  [Path in ReadPath]: Result<`GET ${Path}`> extends Part<unknown> ? Path : never;
}[ReadPath];

type ItemOf<Path extends ListPath> = Result<`GET ${Path}`>['items'][number];

interface ListState {
  address: string;
  parts: Part<unknown>[];
  error?: ApiFailure;
}

/**
 * Reads a list of the API part by part.
 * @param before the parts that were shown here earlier: they are shown until they are read again
 */
export function useList<Path extends ListPath>(
  path: Path,
  given?: AddressParts<Path>[0],
  before?: Part<ItemOf<Path>>[],
): LoadedList<ItemOf<Path>>;
export function useList(
  path: string,
  given: Given = {},
  before: Part<unknown>[] = [],
): LoadedList<unknown> {
  const address = filled(path, given);
  const [state, setState] = useState<ListState>({ address, parts: before });
  const [isLoading, setLoading] = useState(true);
  const { abort, begin } = useSignals();
  const isCurrent = state.address === address;
  const { parts, error } = isCurrent ? state : { parts: [] };
  const shown = useRef(parts);
  shown.current = parts;
  const read = useCallback(
    async (work: (signal: AbortSignal) => Promise<Part<unknown>[]>) => {
      const signal = begin();
      setLoading(true);
      const result = await work(signal).then(
        (next) => ({ address, parts: next }),
        (failure) => ({ address, parts: shown.current, error: asFailure(failure) }),
      );
      if (signal.aborted) return;
      setState(result);
      setLoading(false);
    },
    [address],
  );
  const reload = useCallback(
    () => read((signal) => readParts(address, shown.current.length, signal)),
    [read],
  );
  useEffect(() => {
    void reload();
    return abort;
  }, [reload]);
  useReconnect(error, reload);
  const next = parts.at(-1)?.next;
  return {
    items: parts.length > 0 ? parts.flatMap(({ items }) => items) : undefined,
    parts,
    error,
    isLoading: isLoading || !isCurrent,
    hasMore: next != null,
    async more() {
      if (!next || isLoading) return;
      await read(async (signal) => [...parts, await readPart(withCursor(address, next), signal)]);
    },
    reload,
  };
}
