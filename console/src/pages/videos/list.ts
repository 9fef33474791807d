import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import type { VideoItem } from '../../../../server/src/site/tasks/gallery.ts';
import { api } from '../../api.ts';
import { type LoadedList, type Part, useEvery, useList, useListener } from '../../load.ts';
import { useMode } from '../../session.tsx';
import type { Filters } from './filters.tsx';

interface SavedList {
  parts: Part<VideoItem>[];
  scrollY: number;
}

/** The lists as this page showed them last, by mode and history entry; signing out forgets them. */
const savedLists = new Map<string, SavedList>();

/** The key of the current history entry; assigned on first use. */
function entryKey(): string {
  const { state } = history as { state: { key?: string } | null };
  if (state?.key) return state.key;
  const key = crypto.randomUUID();
  history.replaceState({ ...state, key }, '');
  return key;
}

/** The list of videos. Going back restores all its pages and the scroll position. */
export function useReturningList(filters: Filters): LoadedList<VideoItem> {
  const mode = useMode();
  const [key] = useState(() => `${mode} ${entryKey()}`);
  const [before] = useState(() => savedLists.get(key));
  const list = useList('/console/api/tasks', { query: { ...filters, mode } }, before?.parts);
  const shown = useRef<SavedList>({ parts: [], scrollY: 0 });
  shown.current.parts = list.parts;
  useLayoutEffect(() => {
    if (before) scrollTo(0, before.scrollY);
  }, []);
  const noteScroll = () => {
    shown.current.scrollY = scrollY;
  };
  useListener(['scroll'], noteScroll);
  useEffect(() => {
    noteScroll();
    return () => void savedLists.set(key, shown.current);
  }, []);
  return list;
}

const POLL_MS = 4000;

/** The videos of a list, read again while one is in progress. */
export function usePolled({ items, parts }: LoadedList<VideoItem>): VideoItem[] | undefined {
  const [fresh, setFresh] = useState<Map<string, VideoItem>>(new Map());
  const mode = useMode();
  const [firstPart] = parts;
  useEffect(() => setFresh(new Map()), [firstPart]); // a reloaded list is newer
  const current = items?.map((item) => fresh.get(item.id) ?? item);
  const isWaiting = current?.some((item) => item.status === 'processing');
  useEvery(isWaiting ? POLL_MS : undefined, async () => {
    if (document.hidden) return;
    const query = { mode, limit: '100' };
    const list = await api('GET /console/api/tasks', { query }).catch(() => undefined);
    if (list) setFresh(new Map(list.items.map((item) => [item.id, item])));
  });
  return current;
}
