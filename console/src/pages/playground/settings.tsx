import { useId } from 'preact/hooks';
import { Card } from '../../ui/card.tsx';
import { Segments, Select, Switch, TextArea } from '../../ui/form/controls.tsx';
import { binding, Field } from '../../ui/form/field.tsx';
import { Length } from '../../ui/form/length.tsx';
import { labelOf } from '../../ui/format.tsx';
import {
  type Body,
  bodyOf,
  extrasIn,
  type Form,
  offersOf,
  type Property,
  type Rules,
  withModel,
} from './form-model.ts';
import { MediaFields, type MediaFieldsProps } from './media-fields.tsx';
import { PresetsButton } from './presets.tsx';

const MODES: Record<string, string> = {
  'text-to-video': 'Text',
  'image-to-video': 'Frames',
  'media-to-video': 'References',
};

interface Props extends MediaFieldsProps {
  onChange: (change: Partial<Form>) => void;
  /** Fills in the form. */
  onFill: (request: Body) => void;
}

export function Settings(props: Props) {
  const { form, rules, onFill } = props;
  return (
    <Card>
      <div class="relative grid gap-7">
        <div class="absolute -top-2 right-0 z-10">
          <PresetsButton body={() => presetOf(bodyOf(form, rules))} onUse={onFill} />
        </div>
        <Contents {...props} />
        <div class="ruler" />
        <Size {...props} />
        <Extras {...props} />
      </div>
    </Card>
  );
}

/** Leaves out an empty prompt: a preset needs none. */
function presetOf({ prompt, ...rest }: Body): Body {
  return prompt === '' ? rest : { prompt, ...rest };
}

function valuesOf({ schema }: Rules, name: string): string[] {
  return schema.properties[name]?.enum ?? [];
}

function fieldsOf({ form, errors, onChange }: Props) {
  const field = binding(form, onChange);
  return <Name extends keyof Form>(name: Name) => ({ ...field(name), error: errors[name] });
}

function Contents(props: Props) {
  const { form, rules } = props;
  const field = fieldsOf(props);
  const modes = valuesOf(rules, 'mode').map((value) => ({ value, label: MODES[value] ?? value }));
  return (
    <>
      <Segments
        label="Mode"
        choices={modes}
        disabled={valuesOf(rules, 'mode').filter(
          (value) => !offersOf(form, rules).mode.includes(value),
        )}
        {...field('mode')}
      />
      <TextArea
        label="Prompt"
        name="prompt"
        rows={5}
        maxLength={rules.schema.properties.prompt?.maxLength ?? 4000}
        placeholder="A lighthouse at dawn, waves below, slow pan to the right"
        {...field('prompt')}
      />
      <MediaFields {...props} />
    </>
  );
}

/** The model, length and frame, which determine the price. */
function Size(props: Props) {
  const { form, rules, onChange } = props;
  const field = fieldsOf(props);
  const offers = offersOf(form, rules);
  const resolutions = valuesOf(rules, 'resolution');
  const frames = rules.prices.frames[form.resolution as keyof typeof rules.prices.frames] ?? {};
  const titles = Object.fromEntries(rules.prices.models.map(({ name, title }) => [name, title]));
  return (
    <>
      <div class="grid gap-7 sm:grid-cols-2 lg:grid-cols-1">
        <Select
          label="Model"
          choices={valuesOf(rules, 'model').map((value) => ({
            value,
            label: titles[value] ?? value,
          }))}
          {...field('model')}
          onChange={(model) => onChange(withModel(form, model, rules))}
        />
        <Length durations={offers.duration} {...field('duration')} />
      </div>
      <Segments
        label="Resolution"
        choices={resolutions}
        disabled={resolutions.filter((value) => !offers.resolution.includes(value))}
        {...field('resolution')}
      />
      <AspectPicker ratios={offers.aspect_ratio} frames={frames} {...field('aspect_ratio')} />
    </>
  );
}

const BOX = 34;

function frameStyle(ratio: string): { width: string; height: string } {
  if (!ratio.includes(':')) return { width: '30px', height: '24px' };
  const [w = 1, h = 1] = ratio.split(':').map(Number);
  const scale = BOX / Math.max(w, h);
  return { width: `${Math.round(w * scale)}px`, height: `${Math.round(h * scale)}px` };
}

interface AspectPickerProps {
  value: string;
  ratios: readonly string[];
  /** Width and height in pixels by ratio, at the chosen resolution. */
  frames: Record<string, readonly [number, number]>;
  onChange: (value: string) => void;
}

/** Shows the ratios as frames. They are radio buttons, so arrow keys move between them. */
function AspectPicker({ value, ratios, frames, onChange }: AspectPickerProps) {
  const name = useId();
  const size = frames[value];
  return (
    <fieldset class="grid min-w-0 gap-1.5">
      <legend class="mb-1.5 flex w-full items-baseline justify-between gap-4 font-medium">
        Aspect ratio
        <span class="figures text-sm font-normal text-dim">
          {size ? `${size[0]} × ${size[1]}` : 'like the first file'}
        </span>
      </legend>
      <div class="flex flex-wrap gap-2">
        {ratios.map((ratio) => (
          <label
            key={ratio}
            class="relative grid w-[4.25rem] justify-items-center gap-1.5 border border-edge bg-sheet pt-2.5 pb-1.5 text-sm hover:border-ink has-checked:border-tungsten has-checked:bg-tungsten has-checked:text-on-tungsten has-focus-visible:outline-2 has-focus-visible:outline-offset-2 has-focus-visible:outline-focus"
          >
            <input
              type="radio"
              name={name}
              value={ratio}
              checked={ratio === value}
              onChange={() => onChange(ratio)}
              class="sr-only"
            />
            <span class="grid h-[34px] place-items-center" aria-hidden="true">
              <span
                class={`block border-[1.5px] border-current ${ratio.includes(':') ? '' : 'border-dashed'}`}
                style={frameStyle(ratio)}
              />
            </span>
            <span class="figures text-xs">{ratio}</span>
          </label>
        ))}
      </div>
    </fieldset>
  );
}

/** The other fields; new request fields appear without a change here. */
function Extras({ form, rules, errors, onChange }: Props) {
  return (
    <div class="grid items-start gap-7 sm:grid-cols-2 lg:grid-cols-1">
      {extrasIn(rules.schema).map(([field, property]) => (
        <Extra
          key={field}
          field={field}
          property={property}
          value={form.extras[field] ?? ''}
          error={errors[field]}
          onChange={(value) => onChange({ extras: { ...form.extras, [field]: value } })}
        />
      ))}
    </div>
  );
}

const WORDS: Record<string, { label?: string; hint?: string }> = {
  generate_audio: { label: 'Sound', hint: 'Generates an audio track.' },
  seed: { hint: 'The same seed gives similar videos. Empty: random.' },
};

interface ExtraProps {
  field: string;
  property: Property;
  value: string | boolean;
  error: string | undefined;
  onChange: (value: string | boolean) => void;
}

function Extra({ field, property, value, error, onChange }: ExtraProps) {
  const { type, description, enum: values, minimum: min, maximum: max, maxLength } = property;
  const words = { label: labelOf(field), hint: description ?? '', ...WORDS[field] };
  if (typeof value === 'boolean') return <Switch {...words} checked={value} onChange={onChange} />;
  const text = { ...words, value, error, onChange };
  if (values) return <Segments {...text} choices={values} />;
  if (type === 'integer') {
    return <Field {...text} type="number" inputMode="numeric" min={min} max={max} />;
  }
  return <Field {...text} maxLength={maxLength} />;
}
