import type { FormRules } from '../../../../server/src/site/playground/prices.ts';
import { Problem } from '../../ui/form/field.tsx';
import { FILES } from './files.ts';
import {
  type Form,
  MEDIA_FIELDS,
  type MediaField,
  type Medium,
  type Rules,
  withMedium,
} from './form-model.ts';
import { MediaSlot } from './media-slot.tsx';
import { MEGABYTE } from './upload.ts';

const WORDS: Record<MediaField, { label: string; kind: 'image' | 'video' }> = {
  image_url: { label: 'First frame', kind: 'image' },
  end_image_url: { label: 'Last frame (optional)', kind: 'image' },
  reference_image_urls: { label: 'Reference image', kind: 'image' },
  reference_video_urls: { label: 'Reference video', kind: 'video' },
};

export interface MediaFieldsProps {
  form: Form;
  rules: Rules;
  errors: Record<string, string>;
  /** Updates a field's files from their current state: uploads may finish at any time. */
  onMedia: (field: MediaField, change: (before: Medium[]) => Medium[]) => void;
  /** Uploads files into a field, as many as it has room for. */
  onFiles: (files: File[], field: MediaField) => void;
}

export function MediaFields(props: MediaFieldsProps) {
  const { prices } = props.rules;
  const accepted = prices.modes[props.form.mode]?.accepts ?? [];
  const fields = MEDIA_FIELDS.filter((field) => accepted.includes(field));
  if (fields.length === 0) return null;
  return (
    <div
      id={FILES}
      class="grid grid-cols-[minmax(0,1fr)] gap-5 sm:grid-cols-[repeat(2,minmax(0,1fr))] lg:grid-cols-[minmax(0,1fr)]"
    >
      {fields.map((field) => (
        <MediaList key={field} field={field} {...props} />
      ))}
      <p class="text-sm text-dim sm:col-span-2 lg:col-span-1">
        {keptText(prices.limits.stored_bytes)}
      </p>
    </div>
  );
}

function keptText({ unpaid, paid }: FormRules['limits']['stored_bytes']): string {
  const limits = `Together they may have ${unpaid / MEGABYTE} MB, or ${paid / MEGABYTE} MB once you have bought credits.`;
  return `Files uploaded here are kept for 7 days after their last use, files uploaded by the API for a day. ${limits}`;
}

interface ListProps extends MediaFieldsProps {
  field: MediaField;
}

function slotOf({ field, rules, onMedia, onFiles }: ListProps) {
  const { kind } = WORDS[field];
  const { limits } = rules.prices;
  return {
    kind,
    maxBytes: limits.upload_bytes,
    seconds: kind === 'video' ? limits.reference_seconds : undefined,
    onFiles: (files: File[]) => onFiles(files, field),
    onChange: (changed: Medium) => onMedia(field, (before) => withMedium(before, changed)),
    onRemove: (gone: string) =>
      onMedia(field, (before) => before.filter(({ key }) => key !== gone)),
  };
}

function MediaList(props: ListProps) {
  const { field, form, rules, errors } = props;
  const { label } = WORDS[field];
  const media = form.media[field];
  const most = rules.schema.properties[field]?.maxItems ?? 1;
  const slot = { ...slotOf(props), isMany: most > 1 };
  const filled = media.filter(({ url, progress }) => url !== '' || progress);
  const failed = media.find((medium) => medium.error !== undefined);
  return (
    <div class="grid grid-cols-[minmax(0,1fr)] content-start gap-2" role="group" aria-label={label}>
      <p class="flex items-baseline justify-between gap-4 font-medium">
        {label}
        {most > 1 && (
          <span class="figures text-sm font-normal text-dim">
            {filled.length} / {most}
          </span>
        )}
      </p>
      {filled.map((medium, i) => (
        <MediaSlot
          key={medium.key}
          {...slot}
          label={most > 1 ? `${label} ${i + 1}` : label}
          medium={medium}
        />
      ))}
      {filled.length < most && (
        <MediaSlot key={`empty-${filled.length}`} {...slot} label={label} medium={failed} />
      )}
      {errors[field] && <Problem>{errors[field]}</Problem>}
    </div>
  );
}
