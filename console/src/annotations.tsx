import { useState } from 'preact/hooks';
import type { VideoItem } from '../../server/src/site/tasks/gallery.ts';
import { api } from './api.ts';
import { nameOf } from './task.ts';
import { IconButton } from './ui/button.tsx';
import { openDialog } from './ui/dialog.tsx';
import { Field } from './ui/form/field.tsx';
import { FormDialog } from './ui/form/form-dialog.tsx';
import { toast } from './ui/toast.tsx';

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

/** Names one video, or tags several. */
export function editAnnotations(items: VideoItem[], onSaved: () => unknown): void {
  openDialog(<AnnotationsDialog items={items} onSaved={onSaved} />);
}

function AnnotationsDialog({ items, onSaved }: { items: VideoItem[]; onSaved: () => unknown }) {
  const [one] = items.length === 1 ? items : [];
  const shared = (items[0]?.tags ?? []).filter((tag) => items.every((it) => it.tags.includes(tag)));
  const [name, setName] = useState(one?.name ?? '');
  const [text, setText] = useState(shared.join(', '));
  const save = async () => {
    const tags = text.split(',').flatMap((tag) => tag.trim() || []);
    await api('PATCH /console/api/tasks', {
      body: {
        ids: items.map(({ id }) => id),
        ...(one && { name: name.trim() || null }),
        add_tags: tags.filter((tag) => !shared.includes(tag)),
        remove_tags: shared.filter((tag) => !tags.includes(tag)),
      },
    });
  };
  return (
    <FormDialog
      title={one ? 'Name and tags' : `Tags of ${items.length} videos`}
      action="Save"
      onSend={save}
      onSent={onSaved}
    >
      {() => (
        <>
          {one && (
            <Field
              label="Name"
              hint="Shown instead of the prompt. A downloaded file is named after it."
              maxLength={120}
              value={name}
              onChange={setName}
            />
          )}
          <Field
            label={one ? 'Tags' : 'Tags that all of them have'}
            hint="Separated by commas."
            value={text}
            onChange={setText}
          />
        </>
      )}
    </FormDialog>
  );
}
