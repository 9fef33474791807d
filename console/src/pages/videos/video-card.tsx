import { useEffect, useRef, useState } from 'preact/hooks';
import type { VideoItem } from '../../../../server/src/site/tasks/gallery.ts';
import { nameOf, shownState, whoDeleted } from '../../task.ts';
import { Status, TestMark } from '../../ui/badge.tsx';
import { Credits, formatDay, RelativeTime } from '../../ui/format.tsx';
import { Icon } from '../../ui/icon.tsx';
import { type Column, column, numbers } from '../../ui/table.tsx';
import { StarButton, Tags } from '../../ui/video-actions.tsx';
import { Pick, type Selection } from './selection.tsx';

/** Hovering for less than this starts no video. */
const PREVIEW_MS = 300;

interface CardProps {
  item: VideoItem;
  selection: Selection;
  /** Called when the video was starred. */
  onChange: () => unknown;
}

export function VideoCard({ item, selection, onChange }: CardProps) {
  const [isPreviewed, preview] = usePreview(item.video_url !== null);
  return (
    <article class="group relative" {...preview}>
      <div class="relative aspect-video overflow-hidden bg-well outline outline-line group-hover:outline-edge group-has-[a:focus-visible]:outline-2 group-has-[a:focus-visible]:outline-offset-2 group-has-[a:focus-visible]:outline-focus group-has-checked:outline-2 group-has-checked:outline-tungsten">
        <Picture item={item} />
        {isPreviewed && <Preview item={item} />}
      </div>
      <h2 class="mt-3 line-clamp-2 text-base leading-snug font-medium break-words">
        <a
          href={`/videos/${item.id}`}
          class="no-underline outline-none after:absolute after:inset-0 hover:underline"
        >
          {nameOf(item)}
        </a>
      </h2>
      <div class="mt-2 flex flex-wrap items-baseline justify-between gap-x-4 gap-y-1">
        <State item={item} />
        <span class="text-sm text-dim">
          <RelativeTime at={item.created_at} />
        </span>
      </div>
      <div class="mt-1 grid gap-1.5">
        <Facts item={item} />
        <Tags tags={item.tags} />
      </div>
      <div class="absolute top-2 inset-x-2 flex justify-between">
        <span class="relative bg-sheet">
          <Pick item={item} selection={selection} />
        </span>
        <span class="relative bg-sheet">
          <StarButton item={item} onChange={onChange} />
        </span>
      </div>
    </article>
  );
}

/** The columns of the list of videos. */
export function columnsOf({ selection, onChange }: Omit<CardProps, 'item'>): Column<VideoItem>[] {
  return [
    column('Video', (item) => (
      <div class="grid grid-cols-[auto_auto_minmax(0,1fr)_auto] items-center gap-3 text-left">
        <Pick item={item} selection={selection} />
        <span class="relative block aspect-video w-24 overflow-hidden bg-well">
          {item.poster_url && <Poster url={item.poster_url} />}
        </span>
        <span class="grid gap-1">
          <a href={`/videos/${item.id}`} class="line-clamp-2 font-medium break-words">
            {nameOf(item)}
          </a>
          <Facts item={item} />
          <Tags tags={item.tags} />
        </span>
        <StarButton item={item} onChange={onChange} />
      </div>
    )),
    column('Status', (item) => <State item={item} />),
    numbers('Size', ({ size_bytes: bytes }) => (bytes === null ? '–' : megabytes(bytes))),
    column('Created', ({ created_at: at }) => <RelativeTime at={at} />),
  ];
}

function megabytes(bytes: number): string {
  return `${(bytes / 1e6).toFixed(1)}\u00a0MB`;
}

function State({ item }: { item: VideoItem }) {
  return (
    <span class="flex items-baseline gap-2.5">
      <Status state={shownState(item)} />
      {item.surface === 'test' && <TestMark />}
    </span>
  );
}

function Facts({ item }: { item: VideoItem }) {
  const { model, duration, resolution, credits_refunded: refunded, credits_used: used } = item;
  return (
    <p class="text-sm text-dim">
      {model}, {resolution}, {`${duration}\u00a0s, `}
      {refunded > 0 ? 'refunded' : <Credits value={used} unit={true} />}
    </p>
  );
}

function Poster({ url }: { url: string }) {
  return (
    <img
      src={url}
      alt=""
      loading="lazy"
      decoding="async"
      class="absolute inset-0 size-full object-contain"
    />
  );
}

function Picture({ item }: { item: VideoItem }) {
  if (item.poster_url !== null) return <Poster url={item.poster_url} />;
  return (
    <div class="absolute inset-0 grid place-content-center justify-items-center gap-3 px-4 text-center text-sm text-dim">
      {item.deleted && <Icon name="trash" size={22} />}
      <p class="line-clamp-4 max-w-full">{withoutPicture(item)}</p>
    </div>
  );
}

function withoutPicture(item: VideoItem): string {
  if (item.status === 'processing') return item.label;
  if (item.status === 'failed') return item.failed_because ?? 'No video';
  if (!item.deleted) return 'No picture';
  const { at } = item.deleted;
  return whoDeleted(item.deleted) + (at === null ? '' : formatDay(at));
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
