import { useEffect } from 'preact/hooks';
import type { VideoItem } from '../../server/src/site/tasks/gallery.ts';
import { isMissing, useEvery, useLoad } from './load.ts';
import { useSession } from './session.tsx';

/** The name that its owner gave a video; without one, its prompt. */
export function nameOf({ name, prompt }: VideoItem): string {
  return name ?? prompt;
}

/** A task's state, for the component `Status`. */
export function shownState({ status, is_held: isHeld, deleted }: VideoItem): string {
  if (isHeld) return 'held';
  return deleted ? 'deleted' : status;
}

const DELETED = {
  owner: 'You deleted it',
  operator: 'The operator of this service removed it',
  unknown: 'You or the operator of this service deleted it',
  retention: 'It was kept',
};

/** Who deleted a video. The caller appends the time. */
export function whoDeleted({ by, at }: NonNullable<VideoItem['deleted']>): string {
  const before = by === 'retention' ? ' until ' : ' on ';
  return at === null ? 'It is not kept any more' : DELETED[by] + before;
}

/** Where the file of a video is downloaded, under a name made from its prompt and date. */
export function downloadOf({ id }: VideoItem): string {
  return `/console/api/tasks/${id}/file`;
}

const POLL_MS = 2000;

/** A task, read again while something may still change; refreshes the balance when it ends. */
export function useTask(id: string | undefined) {
  const loaded = useLoad('/console/api/tasks/:id', id === undefined ? id : { params: { id } });
  const { refresh } = useSession();
  const isRunning = loaded.data?.status === 'processing';
  const isUnread = id !== undefined && loaded.data === undefined && !isMissing(loaded);
  useEvery(isRunning || isUnread ? POLL_MS : undefined, () => {
    if (!document.hidden && !loaded.isLoading) return loaded.reload();
  });
  useEffect(() => {
    if (isRunning) return () => void refresh();
  }, [isRunning]);
  return loaded;
}
