import type { ShownVerb } from '../../../../server/src/site/operator/verb-routes.ts';
import { Segments, Switch } from '../../ui/form/controls.tsx';
import { Field } from '../../ui/form/field.tsx';
import type { DraftField } from '../../ui/form/form-dialog.tsx';

type FieldOfVerb = ShownVerb['fields'][string];

/** What a field holds at first; of a choice that must be made, its first value. */
export function emptyOf({ kind, choices = [], isOptional }: FieldOfVerb): string | boolean {
  if (kind === 'flag') return false;
  return isOptional ? '' : (choices[0] ?? '');
}

const INPUTS = {
  text: { type: 'text' },
  whole: { type: 'number', step: 1 },
  number: { type: 'number', step: 'any' },
  time: { type: 'date' },
} as const;

/** The control for a field of a verb. */
export function VerbField({
  label,
  field: { kind, about, choices = [], isOptional, min, max },
  value,
  onChange,
  error,
}: DraftField<string | boolean> & { label: string; field: FieldOfVerb }) {
  const words = { label, hint: about, error };
  if (kind === 'flag') return <Switch {...words} checked={value === true} onChange={onChange} />;
  if (kind === 'choice') {
    const shown = choices.map((one) => ({ value: one, label: labelOf(one) }));
    return <Segments {...words} value={String(value)} choices={shown} onChange={onChange} />;
  }
  return (
    <Field
      {...words}
      {...INPUTS[kind]}
      {...(kind === 'text' ? { maxLength: max } : { min, max })}
      value={String(value)}
      onChange={onChange}
      required={!isOptional}
      autoComplete="off"
    />
  );
}

/** `expires_at`: Expires at. */
export function labelOf(name: string): string {
  return `${name.charAt(0).toUpperCase()}${name.slice(1).replaceAll('_', ' ')}`;
}
