import { useState } from 'preact/hooks';
import type { VideoItem } from '../../../../server/src/site/tasks/video-item.ts';
import { api } from '../../api.ts';
import { useEvery } from '../../every.ts';
import { useMode } from '../../session.tsx';

const EVERY_MS = 4000;
/** A poster is drawn some seconds after its video is completed. */
const POSTER_MS = 20_000;

/** The items, with what has become of those that are still in work. */
export function useLive(items: VideoItem[] | undefined): VideoItem[] | undefined {
  const [fresh, setFresh] = useState<Map<string, VideoItem>>(new Map());
  const mode = useMode();
  const current = items?.map((item) => fresh.get(item.id) ?? item);
  const isWaiting = current?.some(isUnfinished) ?? false;
  useEvery(isWaiting ? EVERY_MS : undefined, async () => {
    if (document.hidden) return;
    const query = { mode, limit: '100' };
    const list = await api('GET /console/api/tasks', { query }).catch(() => undefined);
    if (list) setFresh(new Map(list.items.map((item) => [item.id, item])));
  });
  return current;
}

function isUnfinished(item: VideoItem): boolean {
  return item.status === 'processing' || awaitsPoster(item);
}

/** Whether the picture of a video may still come. */
export function awaitsPoster(
  item: Pick<VideoItem, 'surface' | 'video_url' | 'poster_url' | 'updated_at'>,
) {
  if (item.surface === 'test') return false; // none is drawn of a sample
  const { video_url: video, poster_url: poster, updated_at: at } = item;
  return video !== null && poster === null && Date.now() - Date.parse(at) < POSTER_MS;
}
