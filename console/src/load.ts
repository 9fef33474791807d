import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import { ApiFailure, request } from './api.ts';
import { type AddressParts, fillPath, type Given, type ReadPath, type Result } from './site-api.ts';

/** A page's data. Old data stays during a reload. */
export interface Loaded<Data> {
  data: Data | undefined;
  error: ApiFailure | undefined;
  isLoading: boolean;
  reload(): Promise<void>;
  /** Replaces the data, for instance with the response to a change. Drops a running read. */
  set(data: Data): void;
}

export function asFailure(error: unknown): ApiFailure {
  if (error instanceof ApiFailure) return error;
  const message = error instanceof Error ? error.message : String(error);
  return new ApiFailure(message, { status: 0, code: 'internal_error' });
}

interface Shown<Data> {
  address?: string | undefined;
  data?: Data | undefined;
  error?: ApiFailure | undefined;
}

/**
 * Reads data from a URL, again when the URL changes or the connection is back. A response that
 * arrives after a newer request is dropped.
 * @param address undefined: nothing to read yet
 * @param read is passed the data that is shown now
 * @param first shown until the data is read
 */
export function useRead<Data>(
  address: string | undefined,
  read: (signal: AbortSignal, shown: Data | undefined) => Promise<Data>,
  first?: Data,
) {
  const [state, setState] = useState<Shown<Data>>({ address, data: first });
  const [isLoading, setLoading] = useState(address !== undefined);
  const isCurrent = state.address === address;
  const { data, error }: Shown<Data> = isCurrent ? state : {};
  const shown = useRef(data);
  shown.current = data;
  const running = useRef(new AbortController());
  const run = useCallback(
    async (work: (signal: AbortSignal) => Promise<Data>) => {
      running.current.abort();
      if (address === undefined) return;
      running.current = new AbortController();
      const { signal } = running.current;
      setLoading(true);
      const next = await work(signal).then(
        (found) => ({ address, data: found }),
        (failure) => ({ address, data: shown.current, error: asFailure(failure) }),
      );
      if (signal.aborted) return;
      setState(next);
      setLoading(false);
    },
    [address],
  );
  const reload = useCallback(() => run((signal) => read(signal, shown.current)), [run]);
  useEffect(() => {
    void reload();
    return () => running.current.abort();
  }, [reload]);
  useListener(['online'], () => error?.code === 'offline' && void reload());
  return {
    data,
    error,
    isLoading: isLoading || !isCurrent,
    run,
    reload,
    set: (next: Data) => void run(async () => next),
  };
}

/** @param given if the path has parameters, undefined means that there is nothing to read yet */
export function useLoad<Path extends ReadPath>(
  path: Path,
  ...given: AddressParts<Path> | [given: undefined]
): Loaded<Result<`GET ${Path}`>>;
export function useLoad(path: '/openapi.json'): Loaded<unknown>;
export function useLoad(path: string, given?: Given): Loaded<unknown> {
  const address = given === undefined && path.includes(':') ? undefined : fillPath(path, given);
  return useRead(address, (signal) => request('GET', address ?? '', { signal }));
}

export function isMissing({ data, error }: Pick<Loaded<unknown>, 'data' | 'error'>): boolean {
  return data === undefined && error?.status === 404;
}

export interface Part<Item> {
  items: Item[];
  /** The next page's cursor; null at the end. */
  next: string | null;
}

export interface LoadedList<Item> extends Omit<Loaded<unknown>, 'data' | 'set'> {
  items: Item[] | undefined;
  parts: Part<Item>[];
  address: string;
  hasMore: boolean;
  more(): Promise<void>;
}

type ListPath = {
  [Path in ReadPath]: Result<`GET ${Path}`> extends Part<unknown> ? Path : never;
}[ReadPath];

type ItemOf<Path extends ListPath> = Result<`GET ${Path}`>['items'][number];

/** @param before the pages shown here earlier: shown until they are read again */
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
  const readPart = async (signal: AbortSignal, cursor: string | null = null) => {
    const query = { ...given.query, cursor: cursor ?? '' };
    return (await request('GET', fillPath(path, { ...given, query }), { signal })) as Part<unknown>;
  };
  const readParts = async (signal: AbortSignal, shown: unknown[] = []) => {
    const parts = [await readPart(signal)];
    while (parts.length < shown.length && parts.at(-1)?.next) {
      parts.push(await readPart(signal, parts.at(-1)?.next));
    }
    return parts;
  };
  const address = fillPath(path, given);
  const loaded = useRead(address, readParts, before);
  const { data: parts = [], error, isLoading, run, reload } = loaded;
  const next = parts.at(-1)?.next;
  return {
    items: parts.length > 0 ? parts.flatMap(({ items }) => items) : undefined,
    parts,
    address,
    error,
    isLoading,
    hasMore: next != null,
    async more() {
      if (!next || isLoading) return;
      await run(async (signal) => [...parts, await readPart(signal, next)]);
    },
    reload,
  };
}

/** Listens to window events, and to those that bubble up to it, while a component is mounted. */
export function useListener(names: string[], listener: (event: Event) => unknown): void {
  const latest = useRef(listener);
  latest.current = listener;
  useEffect(() => {
    const stop = new AbortController();
    for (const name of names) {
      addEventListener(name, (event) => void latest.current(event), { signal: stop.signal });
    }
    return () => stop.abort();
  }, []);
}

/** Repeats work while a component is mounted; undefined pauses it. */
export function useEvery(ms: number | undefined, work: () => unknown): void {
  const latest = useRef(work);
  latest.current = work;
  useEffect(() => {
    if (ms === undefined) return;
    const timer = setInterval(() => void latest.current(), ms);
    return () => clearInterval(timer);
  }, [ms]);
}
