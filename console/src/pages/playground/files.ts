import { useEffect } from 'preact/hooks';
import { api } from '../../api.ts';
import { useListener } from '../../load.ts';
import { toast } from '../../ui/toast.tsx';
import {
  type Form,
  MEDIA_FIELDS,
  type MediaField,
  type Medium,
  offersOf,
  type Rules,
  withMedium,
} from './form-model.ts';
import { addUpload } from './upload.ts';

type Change = (next: (before: Form) => Form) => void;

/** The form's files: those of the slots, and those that are dropped or pasted anywhere. */
export function useFiles(form: Form, rules: Rules, change: Change) {
  const onMedia = (field: MediaField, next: (before: Medium[]) => Medium[]) =>
    change((before) => {
      return { ...before, media: { ...before.media, [field]: next(before.media[field]) } };
    });
  /** Uploads a file into a field, for which it switches the mode. */
  const upload = (file: File, field: MediaField) => {
    const mode = modeOf(field, rules);
    if (!offersOf(form, rules).mode.includes(mode)) {
      return toast('This model makes no videos from such a file.', 'bad');
    }
    change((before) => ({ ...before, mode }));
    toast('The file is added to the form.');
    const onChange = (medium: Medium) => onMedia(field, (before) => withMedium(before, medium));
    void addUpload(file, { maxBytes: rules.prices.limits.upload_bytes, onChange });
  };
  const add = (file: File, field: MediaField) => {
    const isFull = form.media[field].length >= (rules.schema.properties[field]?.maxItems ?? 1);
    if (isFull) return toast('There is no room for another file: remove one first.', 'bad');
    upload(file, field);
  };
  useEffect(() => void describeUploads(form, onMedia), []);
  useListener(['dragover', 'drop', 'paste'], (event) => {
    if (event.defaultPrevented) return; // a slot has taken it
    const { types, files } = transferOf(event) ?? {};
    if (!types?.includes('Files')) return;
    event.preventDefault();
    const [file] = files ?? [];
    if (file) add(file, fieldFor(file, form));
  });
  return {
    onMedia,
    add,
    /** Fills in the form, with the uploads that it names. */
    fill(next: Form) {
      change(() => next);
      void describeUploads(next, onMedia);
    },
    /** Replaces the file of a field that has one. */
    replace(file: File, field: MediaField) {
      onMedia(field, () => []);
      upload(file, field);
    },
  };
}

function transferOf(event: Event): DataTransfer | null | undefined {
  if (event instanceof DragEvent) return event.dataTransfer;
  return event instanceof ClipboardEvent ? event.clipboardData : undefined;
}

function modeOf(field: MediaField, { prices }: Rules): string {
  const modes = Object.entries(prices.modes);
  return modes.find(([, { accepts }]) => accepts.includes(field))?.[0] ?? '';
}

/** Where a file goes that was dropped beside the slots. */
function fieldFor({ type }: File, { mode, media }: Form): MediaField {
  if (type.startsWith('video/')) return 'reference_video_urls';
  if (mode === 'media-to-video') return 'reference_image_urls';
  return media.image_url.length === 0 ? 'image_url' : 'end_image_url';
}

/** Reads an earlier request's uploads, dropping expired ones. */
async function describeUploads(
  form: Form,
  onMedia: (field: MediaField, change: (before: Medium[]) => Medium[]) => void,
): Promise<void> {
  for (const field of MEDIA_FIELDS) {
    for (const { key, url } of form.media[field]) {
      if (!url.startsWith('upload:')) continue;
      const named = { params: { id: url.slice('upload:'.length) } };
      const upload = await api('GET /console/api/uploads/:id', named).catch(() => undefined);
      if (!upload) toast('A file of that video has expired: upload it again.', 'bad');
      onMedia(field, (before) =>
        before.flatMap((medium) => {
          if (medium.key !== key) return [medium];
          return upload ? [{ ...medium, upload }] : [];
        }),
      );
    }
  }
}
