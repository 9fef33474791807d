import { useRef } from 'preact/hooks';
import type { VideoItem } from '../../../../server/src/site/tasks/gallery.ts';
import type { ShownTask } from '../../../../server/src/site/tasks/shown-task.ts';
import { useTask } from '../../task.ts';
import { Empty } from '../../ui/states.tsx';
import { Strip } from './strip.tsx';
import { Viewer } from './viewer.tsx';

interface ScreenProps {
  /** The newest tasks; undefined until they are read. */
  items: VideoItem[] | undefined;
  /** The chosen task; by default the one that was the newest at first. */
  shown: string | undefined;
  onShow: (id: string) => void;
}

/** One large video, and a strip of all. */
export function Screen({ items, shown, onShow }: ScreenProps) {
  const first = useRef<string | undefined>(undefined);
  first.current ??= items?.[0]?.id;
  const id = shown ?? first.current;
  const { data, error } = useTask(id);
  const last = useRef<ShownTask | undefined>(undefined);
  if (data || error) last.current = data;
  const task = last.current; // until the chosen one is read, the one before it
  if (items?.length === 0 && id === undefined) return NONE;
  return (
    <>
      {items && items.length > 0 && <Strip items={items} shown={id} onShow={onShow} />}
      <div id="viewer" role="tabpanel" aria-label="The chosen video">
        {task ? (
          <Viewer task={task} error={error} />
        ) : (
          <div class="blank aspect-video w-full" aria-hidden="true" />
        )}
      </div>
    </>
  );
}

const NONE = (
  <Empty title="Your videos appear here">
    Describe one and press Generate. Earlier ones stay here, also in a new window.
  </Empty>
);
