import { useEffect, useRef, useState } from 'preact/hooks';
import type { VideoItem } from '../../../../server/src/site/tasks/gallery.ts';
import { ignoringErrors } from '../../personal.ts';
import { Button } from '../../ui/button.tsx';
import { useTitle } from '../../ui/page.tsx';

const isRunning = ({ status }: VideoItem) => status === 'processing';

/** The window's title says what is in progress; a notification, if allowed, what has ended. */
export function useProgress(items: VideoItem[] = []): void {
  const live = items.filter(isRunning);
  const [first] = live;
  useTitle(live.length > 1 ? `${live.length} videos in progress` : (first?.label ?? 'Playground'));
  const before = useRef(new Set<string>());
  useEffect(() => {
    for (const item of items) if (before.current.has(item.id) && !isRunning(item)) notify(item);
    before.current = new Set(live.map(({ id }) => id));
  }, [items]);
}

/** Only while the page is hidden. Some browsers have no notifications, or none for pages. */
function notify({ id, prompt, status }: VideoItem): void {
  ignoringErrors(() => {
    if (!document.hidden || Notification.permission !== 'granted') return;
    const title = status === 'completed' ? 'Your video is ready' : 'A video failed';
    new Notification(title, { body: prompt, tag: id }).onclick = () => focus();
  });
}

export function NotifyButton() {
  const [permission, setPermission] = useState(() => ignoringErrors(() => Notification.permission));
  if (permission !== 'default') return null;
  return (
    <Button small onClick={() => void Notification.requestPermission().then(setPermission)}>
      Notify me at the end
    </Button>
  );
}
