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

/** The id of the form's part for files. */
export const FILES = 'files';

const reveal = () => document.getElementById(FILES)?.scrollIntoView({ block: 'center' });

/** The form's files: those of the slots, and those that are dropped or pasted anywhere. */
export function useFiles(form: Form, rules: Rules, change: Change) {
  const onMedia = (field: MediaField, next: (before: Medium[]) => Medium[]) =>
    change((before) => {
      return { ...before, media: { ...before.media, [field]: next(before.media[field]) } };
    });
  /** Uploads files, in a mode that has their fields. Files dropped on a slot need no toast. */
  const upload = (files: Placed[], hasToast = true) => {
    const [first] = files;
    const mode = first && modeOf(first.field, rules);
    if (mode === undefined) return;
    if (!offersOf(form, rules).mode.includes(mode)) {
      return toast('This model makes no videos from such a file.', 'bad');
    }
    change((before) => ({ ...before, mode }));
    const { length } = files;
    if (hasToast) {
      toast(length === 1 ? 'The file is added to the form.' : `${length} files are added.`);
      requestAnimationFrame(reveal); // a new mode may have to render this part first
    }
    for (const { file, field } of files) {
      const onChange = (medium: Medium) => {
        onMedia(field, (before) => withMedium(before, medium));
        if (medium.error !== undefined && length > 1) toast(medium.error, 'bad');
      };
      void addUpload(file, { maxBytes: rules.prices.limits.upload_bytes, onChange });
    }
  };
  /** Adds as many files as there is room for. @param field the slot they were dropped on, if any */
  const add = (files: File[], field?: MediaField) => {
    const placed = placedIn(files, { form, rules, field });
    const rest = files.length - placed.length;
    if (rest > 0) toast(`There is no room for ${rest === 1 ? 'a file' : `${rest} files`}.`, 'bad');
    upload(placed, field === undefined);
  };
  useEffect(() => void describeUploads(form, onMedia), []);
  useListener(['dragover', 'drop', 'paste'], (event) => {
    if (event.defaultPrevented) return; // a slot has taken it
    const { types, files } = transferOf(event) ?? {};
    if (!types?.includes('Files')) return;
    event.preventDefault();
    add([...(files ?? [])]);
  });
  return {
    onMedia,
    add,
    /** Fills in the form, and looks up the uploads that it names. */
    fill(next: Form) {
      change(() => next);
      void describeUploads(next, onMedia);
    },
    /** Replaces the file of a field that takes only one. */
    replace(file: File, field: MediaField) {
      onMedia(field, () => []);
      upload([{ file, field }]);
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

interface Placed {
  file: File;
  field: MediaField;
}

interface Place {
  form: Form;
  rules: Rules;
  field: MediaField | undefined;
}

/** Where each of these files goes; leaves out those without room. */
function placedIn(files: File[], { form, rules, field }: Place): Placed[] {
  const count = (name: MediaField) =>
    form.media[name].filter(({ url, progress }) => url !== '' || progress).length;
  const most = (name: MediaField) => rules.schema.properties[name]?.maxItems ?? 1;
  const rooms = new Map(MEDIA_FIELDS.map((name) => [name, most(name) - count(name)]));
  const wantsReferences = form.mode === 'media-to-video' || files.some(isVideo);
  return files.flatMap((file) => {
    const found = fieldsFor(file, field, wantsReferences).find(
      (name) => (rooms.get(name) ?? 0) > 0,
    );
    if (!found) return [];
    rooms.set(found, (rooms.get(found) ?? 0) - 1);
    return [{ file, field: found }];
  });
}

const isVideo = ({ type }: File) => type.startsWith('video/');

/** The fields that may take a file, the preferred one first. */
function fieldsFor(
  file: File,
  field: MediaField | undefined,
  wantsReferences: boolean,
): MediaField[] {
  if (field === 'image_url') return ['image_url', 'end_image_url'];
  if (field) return [field];
  if (isVideo(file)) return ['reference_video_urls'];
  return wantsReferences ? ['reference_image_urls'] : ['image_url', 'end_image_url'];
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
      if (!upload) toast('A file of that request has expired: upload it again.', 'bad');
      onMedia(field, (before) =>
        before.flatMap((medium) => {
          if (medium.key !== key) return [medium];
          return upload ? [{ ...medium, upload }] : [];
        }),
      );
    }
  }
}
