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

interface Props {
  form: Form;
  rules: Rules;
  errors: Record<string, string>;
  onChange: (change: Partial<Form>) => void;
  onMedia: (field: MediaField, change: (before: Medium[]) => Medium[]) => void;
}

/** The fields of a request, with the values and limits of openapi.json. */
export function Settings(props: Props) {
  return (
    <Card>
      <div class="grid gap-7">
        <Contents {...props} />
        <div class="ruler" />
        <Size {...props} />
        <Extras {...props} />
      </div>
    </Card>
  );
}

function valuesOf({ schema }: Rules, name: string): string[] {
  return schema.properties[name]?.enum ?? [];
}

/** What the video shows. */
function Contents({ form, rules, errors, onChange, onMedia }: Props) {
  return (
    <>
      <Segments
        label="Mode"
        value={form.mode}
        choices={valuesOf(rules, 'mode').map((value) => ({ value, label: MODES[value] ?? value }))}
        onChange={(mode) => onChange({ mode })}
        error={errors.mode}
      />
      <TextArea
        label="Prompt"
        name="prompt"
        rows={5}
        maxLength={rules.schema.properties.prompt?.maxLength ?? 4000}
        placeholder="A lighthouse at dawn, waves below, slow pan to the right"
        value={form.prompt}
        onChange={(prompt) => onChange({ prompt })}
        error={errors.prompt}
      />
      <MediaFields form={form} rules={rules} errors={errors} onMedia={onMedia} />
    </>
  );
}

/** Its model, length and frame, which decide the price. */
function Size({ form, rules, errors, onChange }: Props) {
  const { minimum: min = 4, maximum: max = 15 } = rules.schema.properties.duration ?? {};
  const offered = resolutionsOf(form, rules);
  const frames = rules.prices.frames[form.resolution as keyof typeof rules.prices.frames] ?? {};
  const setModel = (model: string) => {
    const fit = resolutionsOf({ ...form, model }, rules);
    const resolution = fit.includes(form.resolution) ? form.resolution : (fit.at(-1) ?? '');
    onChange({ model, resolution });
  };
  return (
    <>
      <div class="grid gap-7 sm:grid-cols-2">
        <Select
          label="Model"
          value={form.model}
          choices={valuesOf(rules, 'model').map((value) => ({ value, label: value }))}
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
        choices={valuesOf(rules, 'resolution').map((value) => {
          return { value, label: value, disabled: !offered.includes(value) };
        })}
        onChange={(resolution) => onChange({ resolution })}
        error={errors.resolution}
      />
      <AspectPicker
        value={form.aspect_ratio}
        ratios={valuesOf(rules, 'aspect_ratio')}
        frames={frames}
        onChange={(aspect_ratio) => onChange({ aspect_ratio })}
      />
    </>
  );
}

function Extras({ form, rules, errors, onChange }: Props) {
  const { seed } = rules.schema.properties;
  return (
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
        min={seed?.minimum}
        max={seed?.maximum}
        value={form.seed}
        onChange={(seed) => onChange({ seed })}
        error={errors.seed}
      />
    </div>
  );
}
