import { useEffect, useRef, useState } from 'preact/hooks';
import type { ShownTask } from '../../../../server/src/site/tasks/shown-task.ts';
import { useLoad } from '../../load.ts';
import { useTask } from '../../task.ts';
import { Link } from '../../ui/button.tsx';
import { Player } from '../../ui/player.tsx';
import { Empty, ErrorState } from '../../ui/states.tsx';
import { Compare } from './compare.tsx';
import { linkTo } from './given-request.ts';
import type { Uses } from './own-video.tsx';
import { Strip, type useTasks } from './strip.tsx';
import { Viewer } from './viewer.tsx';

interface ScreenProps {
  tasks: ReturnType<typeof useTasks>;
  /** The chosen task; by default the one that was the newest when the page was opened. */
  shown: string | undefined;
  onShow: (id: string) => void;
  uses: Uses;
}

/** One large video, or two side by side, and a strip of all. */
export function Screen({ tasks, shown, onShow, uses }: ScreenProps) {
  const { items, error: unread, reload } = tasks;
  const first = useRef<string | undefined>(undefined);
  first.current ??= items?.[0]?.id;
  const id = shown ?? first.current;
  const { task, error } = useLastTask(id);
  const [second, compareWith] = useState<string>();
  useEffect(() => compareWith(undefined), [shown]);
  const known = items?.find((item) => item.id === task?.id);
  useEffect(() => {
    if (known && known.status !== task?.status) void reload();
  }, [task?.status]);
  const others = items?.filter((item) => item.id !== id) ?? [];
  const other = (others.find((item) => item.video_url) ?? others[0])?.id;
  if (unread && !items) return <ErrorState error={unread} retry={() => void reload()} />;
  if (items?.length === 0 && id === undefined) return <NoVideos />;
  return (
    <>
      {items && items.length > 0 && (
        <Strip
          items={items}
          shown={second ?? id}
          compared={second && id}
          onShow={second === undefined ? onShow : compareWith}
        />
      )}
      <div id="viewer" role="tabpanel" aria-label="The chosen video">
        {task && second !== undefined && (
          <Compare left={task} right={second} onEnd={() => compareWith(undefined)} />
        )}
        {task && second === undefined && (
          <Viewer
            task={task}
            error={error}
            onCompare={other === undefined ? undefined : () => compareWith(other)}
            {...uses}
          />
        )}
        {!task && <div class="blank aspect-video w-full" aria-hidden="true" />}
      </div>
    </>
  );
}

/** The chosen task; the previous one until it is loaded. */
function useLastTask(id: string | undefined) {
  const { data, error } = useTask(id);
  const last = useRef<ShownTask | undefined>(undefined);
  if (data || error) last.current = data;
  return { task: last.current, error };
}

function NoVideos() {
  const { data } = useLoad('/console/api/examples');
  return (
    <>
      <Empty title="Your videos appear here">
        Describe one and press Generate. Earlier ones stay here, also in a new window.
      </Empty>
      {data && data.items.length > 0 && (
        <section aria-labelledby="examples">
          <h2 id="examples" class="mb-4 text-heading">
            Examples
          </h2>
          <ul class="grid gap-6 sm:grid-cols-2">
            {data.items.map(({ page, prompt }) => (
              <li key={page} class="grid content-start gap-2">
                <Player
                  id={page}
                  src={`${page}/video.mp4`}
                  poster={`${page}/poster.webp`}
                  label={prompt}
                />
                <p class="line-clamp-3 text-dim">{prompt}</p>
                <p>
                  <Link href={linkTo({ prompt }, '')}>Use this prompt</Link>
                </p>
              </li>
            ))}
          </ul>
        </section>
      )}
    </>
  );
}
