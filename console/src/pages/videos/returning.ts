import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import type { VideoItem } from '../../../../server/src/site/tasks/video-item.ts';
import { type LoadedList, type Part, useList } from '../../load.ts';
import { useMode } from '../../session.tsx';
import type { Filters } from './filters.tsx';

/** What the list showed when its page was left. */
interface Left {
  parts: Part<VideoItem>[];
  scrollY: number;
}

/** By mode and entry of the history. A new window knows none, and signing out opens one. */
const left = new Map<string, Left>();

/** The key of the present entry in the history of the window; it gets one the first time. */
function entryKey(): string {
  const { state } = history as { state: { key?: string } | null };
  if (state?.key) return state.key;
  const key = crypto.randomUUID();
  history.replaceState({ ...state, key }, '');
  return key;
}

/** The list of videos, which Back finds as it was left: all its parts, at the same place. */
export function useReturningList(filters: Filters): LoadedList<VideoItem> {
  const mode = useMode();
  const [key] = useState(() => `${mode} ${entryKey()}`);
  const [before] = useState(() => left.get(key));
  const list = useList('/console/api/tasks', { query: { ...filters, mode } }, before?.parts);
  const now = useRef<Left>({ parts: [], scrollY: 0 });
  now.current.parts = list.parts;
  useLayoutEffect(() => {
    if (before) scrollTo(0, before.scrollY);
  }, []);
  useEffect(() => {
    const onScroll = () => {
      now.current.scrollY = scrollY;
    };
    onScroll();
    addEventListener('scroll', onScroll, { passive: true });
    return () => {
      removeEventListener('scroll', onScroll);
      left.set(key, now.current);
    };
  }, []);
  return list;
}
