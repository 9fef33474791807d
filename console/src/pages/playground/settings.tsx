import { Card } from '../../ui/card.tsx';
import { Range, Segments, Select, Switch, TextArea } from '../../ui/form/controls.tsx';
import { Field } from '../../ui/form/field.tsx';
import { AspectPicker } from './aspect-picker.tsx';
import {
  type Form,
  type MediaField,
  type Medium,
  type Rules,
  resolutionsOf,
} from './form-model.ts';
import { MediaFields } from './media-fields.tsx';

const MODES: Record<string, string> = {
  'text-to-video': 'Text',
  'image-to-video': 'Frames',
  'media-to-video': 'References',
};

/** The fields of a request, with the values and limits of openapi.json. */
export function Settings({
  form,
  rules,
  errors,
  onChange,
  onMedia,
}: {
  form: Form;
  rules: Rules;
  errors: Record<string, string>;
  onChange: (change: Partial<Form>) => void;
  onMedia: (field: MediaField, change: (before: Medium[]) => Medium[]) => void;
}) {
  const { properties } = rules.schema;
  const valuesOf = (name: string) => properties[name]?.enum ?? [];
  const { minimum: min = 4, maximum: max = 15 } = properties.duration ?? {};
  const offered = resolutionsOf(form, rules);
  const frames = rules.prices.frames[form.resolution as keyof typeof rules.prices.frames] ?? {};
  const setModel = (model: string) => {
    const fit = resolutionsOf({ ...form, model }, rules);
    const resolution = fit.includes(form.resolution) ? form.resolution : (fit.at(-1) ?? '');
    onChange({ model, resolution });
  };
  return (
    <Card>
      <div class="grid gap-7">
        <Segments
          label="Mode"
          value={form.mode}
          choices={valuesOf('mode').map((value) => ({ value, label: MODES[value] ?? value }))}
          onChange={(mode) => onChange({ mode })}
          error={errors.mode}
        />
        <TextArea
          label="Prompt"
          name="prompt"
          rows={5}
          maxLength={properties.prompt?.maxLength ?? 4000}
          placeholder="A lighthouse at dawn, waves below, slow pan to the right"
          value={form.prompt}
          onInput={(event) => onChange({ prompt: event.currentTarget.value })}
          error={errors.prompt}
        />
        <MediaFields form={form} rules={rules} errors={errors} onMedia={onMedia} />
        <div class="ruler" />
        <div class="grid gap-7 sm:grid-cols-2">
          <Select
            label="Model"
            value={form.model}
            choices={valuesOf('model').map((value) => ({ value, label: value }))}
            onChange={setModel}
            error={errors.model}
          />
          <Range
            label="Length"
            unit=" s"
            min={min}
            max={max}
            value={form.duration}
            onChange={(duration) => onChange({ duration })}
            error={errors.duration}
          />
        </div>
        <Segments
          label="Resolution"
          value={form.resolution}
          choices={valuesOf('resolution').map((value) => {
            return { value, label: value, disabled: !offered.includes(value) };
          })}
          onChange={(resolution) => onChange({ resolution })}
          error={errors.resolution}
        />
        <AspectPicker
          value={form.aspect_ratio}
          ratios={valuesOf('aspect_ratio')}
          frames={frames}
          onChange={(aspect_ratio) => onChange({ aspect_ratio })}
        />
        <div class="grid items-start gap-7 sm:grid-cols-2">
          <Switch
            label="Sound"
            hint="Generates an audio track."
            checked={form.generate_audio}
            onChange={(generate_audio) => onChange({ generate_audio })}
          />
          <Field
            label="Seed"
            hint="The same seed gives similar videos. Empty: random."
            type="number"
            inputMode="numeric"
            min={properties.seed?.minimum}
            max={properties.seed?.maximum}
            value={form.seed}
            onInput={(event) => onChange({ seed: event.currentTarget.value })}
            error={errors.seed}
          />
        </div>
      </div>
    </Card>
  );
}
