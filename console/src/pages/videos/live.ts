import { useEffect, useState } from 'preact/hooks';
import type { VideoItem } from '../../../../server/src/site/tasks/video-item.ts';
import { api } from '../../api.ts';

const EVERY_MS = 4000;
/** A poster is drawn some seconds after its video is completed. */
const POSTER_MS = 20_000;

/** The items, with what has become of those that are still in work. */
export function useLive(items: VideoItem[] | undefined): VideoItem[] | undefined {
  const [fresh, setFresh] = useState<Map<string, VideoItem>>(new Map());
  const current = items?.map((item) => fresh.get(item.id) ?? item);
  const isWaiting = current?.some(isUnfinished) ?? false;
  useEffect(() => {
    if (!isWaiting) return;
    const timer = setInterval(async () => {
      if (document.visibilityState !== 'visible') return;
      const list = await api('GET /console/api/tasks', { query: { limit: '100' } }).catch(
        () => undefined,
      );
      if (list) setFresh(new Map(list.items.map((item) => [item.id, item])));
    }, EVERY_MS);
    return () => clearInterval(timer);
  }, [isWaiting]);
  return current;
}

function isUnfinished(item: VideoItem): boolean {
  return item.status === 'processing' || awaitsPoster(item);
}

/** Whether the picture of a video may still come. */
export function awaitsPoster({ status, poster_url: poster, updated_at: at }: VideoItem): boolean {
  return status === 'completed' && poster === null && Date.now() - Date.parse(at) < POSTER_MS;
}
