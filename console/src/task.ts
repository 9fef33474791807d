import { useEffect } from 'preact/hooks';
import type { VideoItem } from '../../server/src/site/tasks/gallery.ts';
import { isMissing, useEvery, useLoad } from './load.ts';
import { useSession } from './session.tsx';

const NAMED = { words: 8, characters: 60 };

/** The name of a downloaded file, such as `a-boat-at-dawn-2026-11-28-42.mp4`, where 42 is the seed. */
export function fileNameOf({ prompt, created_at: at, seed }: VideoItem): string {
  const words = prompt.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];
  const text = words.slice(0, NAMED.words).join('-').slice(0, NAMED.characters);
  return `${text || 'video'}-${at.slice(0, 10)}-${seed}.mp4`;
}

const EVERY_MS = 2000;

/** A task, read again while something may still change; refreshes the balance when it ends. */
export function useTask(id: string | undefined) {
  const loaded = useLoad('/console/api/tasks/:id', id === undefined ? id : { params: { id } });
  const { refresh } = useSession();
  const isLive = loaded.data?.status === 'processing';
  const isUnread = id !== undefined && loaded.data === undefined && !isMissing(loaded);
  useEvery(isLive || isUnread ? EVERY_MS : undefined, () => {
    if (!document.hidden && !loaded.isLoading) return loaded.reload();
  });
  useEffect(() => {
    if (isLive) return () => void refresh();
  }, [isLive]);
  return loaded;
}
