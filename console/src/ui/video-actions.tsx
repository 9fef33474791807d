import type { ComponentChildren } from 'preact';
import type { VideoItem } from '../../../server/src/site/tasks/gallery.ts';
import type { ShownTask } from '../../../server/src/site/tasks/shown-task.ts';
import { api } from '../api.ts';
import { useMe } from '../session.tsx';
import { nameOf } from '../task.ts';
import { Button, IconButton } from './button.tsx';
import { openDialog } from './dialog.tsx';
import { toast } from './toast.tsx';

interface StarProps {
  item: VideoItem;
  onChange: () => unknown;
}

export function StarButton({ item, onChange }: StarProps) {
  const { id, is_starred: isStarred } = item;
  return (
    <span class={isStarred ? 'text-print [&_path]:fill-tungsten' : ''}>
      <IconButton
        icon="star"
        label={`Star: ${nameOf(item)}`}
        aria-pressed={isStarred}
        onClick={() => void star([id], !isStarred).then(onChange)}
      />
    </span>
  );
}

export async function star(ids: string[], starred: boolean): Promise<void> {
  await api('PATCH /console/api/tasks', { body: { ids, starred } }).catch(({ message }) =>
    toast(message, 'bad'),
  );
}

export function Tags({ tags }: { tags: string[] }) {
  if (tags.length === 0) return null;
  return (
    <ul aria-label="Tags" class="flex min-w-0 flex-wrap gap-1.5 text-sm">
      {tags.map((tag) => (
        <li key={tag} class="max-w-full">
          <a
            href={`/videos?tag=${encodeURIComponent(tag)}`}
            class="relative block truncate border border-edge px-1.5 text-dim no-underline hover:border-ink hover:text-ink"
          >
            {tag}
          </a>
        </li>
      ))}
    </ul>
  );
}

type Dialogs = typeof import('./video-dialogs.tsx');

let isOpening = false;

/** Opens a dialog whose code most visits of a page never need. */
async function openWith(content: (dialogs: Dialogs) => ComponentChildren): Promise<void> {
  if (isOpening) return; // a second click
  isOpening = true;
  try {
    openDialog(content(await import('./video-dialogs.tsx')));
  } catch {
    toast('This could not be loaded. Reload the page, then try again.', 'bad');
  } finally {
    isOpening = false;
  }
}

/** Names one video, or tags several. */
export function editAnnotations(items: VideoItem[], onSaved: () => unknown): void {
  void openWith(({ AnnotationsDialog }) => <AnnotationsDialog items={items} onSaved={onSaved} />);
}

/** Asks for confirmation before deleting the files of these videos. */
export function askToDelete(items: VideoItem[], onDeleted: () => unknown): void {
  void openWith(({ DeletionDialog }) => <DeletionDialog items={items} onDeleted={onDeleted} />);
}

/** Opens the dialog. Renders nothing for a video that can't be shared. */
export function ShareButton({ task }: { task: ShownTask }) {
  const { can_share: canShare } = useMe();
  if (!canShare || task.video_url === null || task.surface === 'test') return null;
  return (
    <Button
      icon="external"
      onClick={() => void openWith(({ ShareDialog }) => <ShareDialog task={task} />)}
    >
      Share
    </Button>
  );
}
