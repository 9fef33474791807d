import { useEffect, useRef, useState } from 'preact/hooks';
import type { VideoItem } from '../../../../server/src/site/tasks/gallery.ts';
import { useEvery, useListener, useLoad } from '../../load.ts';
import { useMode } from '../../session.tsx';
import { shownState } from '../../task.ts';
import { Status } from '../../ui/badge.tsx';
import { Link } from '../../ui/button.tsx';
import { Credits } from '../../ui/format.tsx';
import { NotifyButton } from './progress.tsx';

const SHOWN = '24';
const POLL_MS = { visible: 4000, hidden: 15_000 };

/** The account's newest tasks of this mode, read again while one of them is in progress. */
export function useTasks() {
  const list = useLoad('/console/api/tasks', { query: { mode: useMode(), limit: SHOWN } });
  const isRunning = list.data?.items.some(({ status }) => status === 'processing');
  const [isHidden, setHidden] = useState(document.hidden);
  useListener(['visibilitychange'], () => setHidden(document.hidden));
  const everyMs = isHidden ? POLL_MS.hidden : POLL_MS.visible;
  useEvery(isRunning ? everyMs : undefined, () => {
    if (!list.isLoading) return list.reload();
  });
  return { items: list.data?.items, error: list.error, reload: list.reload };
}

interface StripProps {
  items: VideoItem[];
  shown: string | undefined;
  /** The one that `shown` is compared with. */
  compared: string | undefined;
  onShow: (id: string) => void;
}

/** The videos as tabs of the viewer: the arrow keys switch, as in the ARIA pattern for tabs. */
export function Strip({ items, shown, compared, onShow }: StripProps) {
  const move = (event: KeyboardEvent) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    const at = items.findIndex(({ id }) => id === shown);
    const next = items[(at + step + items.length) % items.length];
    if (!next) return;
    onShow(next.id);
    document.getElementById(tabOf(next.id))?.focus();
  };
  const list = useRef<HTMLDivElement>(null);
  useEffect(() => reveal(list.current, shown), [shown, items[0]?.id]);
  const focusable = items.some(({ id }) => id === shown) ? shown : items[0]?.id;
  return (
    <div>
      <div class="mb-2 flex items-baseline justify-between gap-4">
        <h2 id="takes" class="mr-auto font-medium">
          Recent
        </h2>
        {items.some(({ status }) => status === 'processing') && <NotifyButton />}
        <Link href="/videos">All videos</Link>
      </div>
      <div
        ref={list}
        role="tablist"
        aria-labelledby="takes"
        class="relative flex gap-2 overflow-x-auto p-1 -mx-1 [scrollbar-width:thin]"
        onKeyDown={move}
      >
        {items.map((item) => (
          <Take
            key={item.id}
            item={item}
            isShown={item.id === shown}
            isFocusable={item.id === focusable}
            isCompared={item.id === compared}
            onShow={onShow}
          />
        ))}
      </div>
    </div>
  );
}

const tabOf = (id: string | undefined) => `take-${id}`;

/** Scrolls the strip to a video, and nothing else. */
function reveal(list: HTMLElement | null, id: string | undefined): void {
  const tab = document.getElementById(tabOf(id));
  if (!list || !tab) return;
  const end = tab.offsetLeft + tab.offsetWidth - list.clientWidth;
  list.scrollLeft = Math.min(tab.offsetLeft, Math.max(list.scrollLeft, end));
}

interface TakeProps {
  item: VideoItem;
  isShown: boolean;
  isFocusable: boolean;
  isCompared: boolean;
  onShow: StripProps['onShow'];
}

function Take({ item, isShown, isFocusable, isCompared, onShow }: TakeProps) {
  const { id, prompt, seed, poster_url: poster, credits_used: credits } = item;
  return (
    <button
      id={tabOf(id)}
      type="button"
      role="tab"
      aria-selected={isShown}
      aria-controls="viewer"
      tabIndex={isFocusable ? 0 : -1}
      title={prompt}
      onClick={() => onShow(id)}
      class="relative grid w-36 flex-none content-start gap-1 border border-line bg-sheet p-1.5 text-left text-xs hover:border-edge aria-selected:border-tungsten aria-selected:outline aria-selected:outline-tungsten data-compared:border-ink"
      data-compared={isCompared || undefined}
    >
      <span class="sr-only">{isCompared ? `Compared: ${prompt}` : prompt}</span>
      <span class="grid aspect-video place-items-center overflow-hidden bg-well">
        {poster && (
          <img
            src={poster}
            alt=""
            loading="lazy"
            decoding="async"
            class="size-full object-contain"
          />
        )}
      </span>
      <span class="flex flex-wrap items-baseline justify-between gap-x-2">
        <Status state={shownState(item)} />
        <span class="text-dim">
          {item.credits_refunded > 0 ? 'refunded' : <Credits value={credits} />}
        </span>
      </span>
      <span class="figures text-dim">seed {seed}</span>
    </button>
  );
}
