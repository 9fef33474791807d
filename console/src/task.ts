import { useEffect } from 'preact/hooks';
import { isMissing, useEvery, useLoad } from './load.ts';
import { useSession } from './session.tsx';

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
