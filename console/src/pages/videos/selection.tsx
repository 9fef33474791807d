import { useState } from 'preact/hooks';
import type { VideoItem } from '../../../../server/src/site/tasks/gallery.ts';
import { addressOf } from '../../site-api.ts';
import { downloadOf, nameOf } from '../../task.ts';
import { Button, ButtonLink } from '../../ui/button.tsx';
import { toast } from '../../ui/toast.tsx';
import { askToDelete, editAnnotations, star } from '../../ui/video-actions.tsx';

/** The server takes no more in one request. */
const MAX_TOGETHER = 50;

export interface Selection {
  has(item: VideoItem): boolean;
  toggle(item: VideoItem): void;
  clear(): void;
}

/** @returns the selected ones of these videos, in their order */
export function useSelection(items: VideoItem[] = []): Selection & { selected: VideoItem[] } {
  const [ids, setIds] = useState<string[]>([]);
  const selected = items.filter(({ id }) => ids.includes(id));
  return {
    selected,
    has: ({ id }) => ids.includes(id),
    toggle({ id }) {
      if (ids.includes(id)) return setIds(ids.filter((one) => one !== id));
      if (selected.length >= MAX_TOGETHER)
        return toast(`At most ${MAX_TOGETHER} videos together.`, 'bad');
      setIds([...ids, id]);
    },
    clear: () => setIds([]),
  };
}

export function Pick({ item, selection }: { item: VideoItem; selection: Selection }) {
  return (
    <label class="grid size-9 place-items-center">
      <input
        type="checkbox"
        aria-label={`Select: ${nameOf(item)}`}
        checked={selection.has(item)}
        onChange={() => selection.toggle(item)}
        class="size-5 accent-tungsten"
      />
    </label>
  );
}

interface BarProps {
  selected: VideoItem[];
  onClear: () => void;
  onChange: () => Promise<void>;
}

/** What can be done with the selected videos; sticks to the lower edge. */
export function SelectionBar({ selected, onClear, onChange }: BarProps) {
  if (selected.length === 0) return null;
  const ids = selected.map(({ id }) => id);
  const onDeleted = () => {
    onClear();
    return onChange();
  };
  const stored = selected.filter(({ video_url: url }) => url !== null);
  const areStarred = selected.every(({ is_starred: isStarred }) => isStarred);
  return (
    <section
      aria-label="Selected videos"
      class="sticks sticky bottom-[calc(3.65rem+env(safe-area-inset-bottom))] z-20 -mx-4 mt-6 flex flex-wrap items-center gap-2 border-y border-edge bg-sheet px-4 py-3 sm:-mx-8 sm:px-8 md:bottom-0 lg:mx-0 lg:border lg:px-6"
    >
      <p role="status" class="mr-auto font-medium">
        {selected.length} selected
      </p>
      {stored.length > 0 && (
        <>
          <ButtonLink small look="primary" icon="download" href={fileOf(stored)} download>
            Download{stored.length === selected.length ? '' : ` ${stored.length}`}
          </ButtonLink>
          <Button small icon="trash" onClick={() => askToDelete(stored, onDeleted)}>
            Delete
          </Button>
        </>
      )}
      <Button small onClick={() => editAnnotations(selected, onChange)}>
        {selected.length === 1 ? 'Name and tags' : 'Tags'}
      </Button>
      <Button small icon="star" onClick={() => void star(ids, !areStarred).then(onChange)}>
        {areStarred ? 'Unstar' : 'Star'}
      </Button>
      <Button small icon="cross" onClick={onClear}>
        Clear
      </Button>
    </section>
  );
}

function fileOf(stored: VideoItem[]): string {
  const [one] = stored;
  if (one && stored.length === 1) return downloadOf(one);
  const ids = stored.map(({ id }) => id).join(',');
  return addressOf('/console/api/videos.zip', { query: { ids } });
}
