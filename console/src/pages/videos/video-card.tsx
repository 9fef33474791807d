import { useEffect, useRef, useState } from 'preact/hooks';
import type { VideoItem } from '../../../../server/src/site/tasks/gallery.ts';
import { Status, TestMark } from '../../ui/badge.tsx';
import { Credits, RelativeTime } from '../../ui/format.tsx';
import { Icon } from '../../ui/icon.tsx';

/** Hovering for less than this starts no video. */
const PREVIEW_MS = 300;

export function VideoCard({ item }: { item: VideoItem }) {
  const [isPreviewed, preview] = usePreview(item.video_url !== null);
  const { prompt, model, duration, resolution } = item;
  return (
    <article class="group relative" {...preview}>
      <div class="relative aspect-video overflow-hidden bg-well outline outline-line group-hover:outline-edge group-has-focus-visible:outline-2 group-has-focus-visible:outline-offset-2 group-has-focus-visible:outline-focus">
        <Picture item={item} />
        {isPreviewed && <Preview item={item} />}
      </div>
      <h2 class="mt-3 line-clamp-2 text-base leading-snug font-medium break-words">
        <a
          href={`/videos/${item.id}`}
          class="no-underline outline-none after:absolute after:inset-0 hover:underline"
        >
          {prompt}
        </a>
      </h2>
      <div class="mt-2 flex flex-wrap items-baseline justify-between gap-x-4 gap-y-1">
        <span class="flex items-baseline gap-2.5">
          <Status state={item.is_held ? 'held' : isDeleted(item) ? 'deleted' : item.status} />
          {item.surface === 'test' && <TestMark />}
        </span>
        <span class="text-sm text-dim">
          <RelativeTime at={item.created_at} />
        </span>
      </div>
      <p class="mt-1 text-sm text-dim">
        {model}, {resolution}, {duration} s,{' '}
        {item.credits_refunded > 0 ? 'refunded' : <Credits value={item.credits_used} unit={true} />}
      </p>
    </article>
  );
}

function Picture({ item }: { item: VideoItem }) {
  if (item.poster_url !== null) {
    return (
      <img
        src={item.poster_url}
        alt=""
        loading="lazy"
        decoding="async"
        class="absolute inset-0 size-full object-contain"
      />
    );
  }
  return (
    <div class="absolute inset-0 grid place-content-center justify-items-center gap-3 px-4 text-center text-sm text-dim">
      {isDeleted(item) && <Icon name="trash" size={22} />}
      <p class="line-clamp-4 max-w-full">{withoutPicture(item)}</p>
    </div>
  );
}

function isDeleted({ status, video_url: url }: VideoItem): boolean {
  return status === 'completed' && url === null;
}

function withoutPicture(item: VideoItem): string {
  if (item.status === 'processing') return item.label;
  if (item.status === 'failed') return item.failed_because ?? 'No video';
  return isDeleted(item) ? 'The video was deleted' : 'No picture';
}

/** Keeps the first link: each read of the list has a new one, which would restart the video. */
function Preview({ item }: { item: VideoItem }) {
  const [src] = useState(item.video_url ?? '');
  return (
    <video
      src={src}
      muted
      loop
      autoPlay
      playsInline
      preload="none"
      aria-hidden="true"
      tabIndex={-1}
      class="absolute inset-0 size-full object-contain"
    />
  );
}

function usePreview(isPossible: boolean) {
  const [isShown, show] = useState(false);
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  const end = () => {
    clearTimeout(timer.current);
    show(false);
  };
  const begin = () => {
    const isUnwanted = matchMedia('(prefers-reduced-motion: reduce)').matches;
    if (!isPossible || isUnwanted) return;
    clearTimeout(timer.current);
    timer.current = setTimeout(() => show(true), PREVIEW_MS);
  };
  useEffect(() => end, []);
  const listeners = {
    onPointerEnter: (event: PointerEvent) => event.pointerType === 'mouse' && begin(),
    onPointerLeave: end,
    onFocusIn: begin,
    onFocusOut: end,
  };
  return [isShown && isPossible, listeners] as const;
}
