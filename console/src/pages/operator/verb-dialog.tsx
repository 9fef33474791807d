import type { GivenChange, ShownVerb } from '../../../../server/src/site/operator/verb-routes.ts';
import { request } from '../../api.ts';
import { useDraft } from '../../draft.ts';
import { useLoad } from '../../load.ts';
import { fillPath } from '../../site-api.ts';
import { Facts } from '../../ui/card.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { Segments, Switch } from '../../ui/form/controls.tsx';
import { Field } from '../../ui/form/field.tsx';
import { FileField } from '../../ui/form/file-field.tsx';
import { DraftDialog, type DraftField } from '../../ui/form/form-dialog.tsx';
import { labelOf } from '../../ui/format.tsx';
import { Load } from '../../ui/states.tsx';
import { toast } from '../../ui/toast.tsx';

/** A change that an operator is about to make: a verb, and the fields known to the page. */
export type Change = GivenChange & {
  initial?: Record<string, string>;
  /** Fields that are neither asked for nor sent. */
  without?: string[];
  title?: string;
  effect?: string;
  /** The dialog asks for one of these alternatives instead of the fields. */
  choices?: Choice[];
};

/** One of a verb's mutually exclusive fields, in the page's words. */
interface Choice {
  field: string;
  words: string;
  effect?: string;
  label?: string;
}

interface Props {
  change: Change;
  onDone: (result: object) => unknown;
}

export const VERBS = '/console/api/operator/verbs';

/** Asks for a verb's fields and the reason, makes the change and shows the outcome. */
export function VerbDialog(props: Props) {
  const { change } = props;
  const verbs = useLoad(VERBS);
  const verb = verbs.data?.[change.verb];
  if (verb) return <VerbForm {...props} verb={verb} />;
  return (
    <Dialog title={change.title ?? change.verb}>
      <Load from={{ ...verbs, data: undefined }}>{() => null}</Load>
    </Dialog>
  );
}

type Entered = Record<string, string | boolean>;

function VerbForm({ change, verb, onDone }: Props & { verb: ShownVerb }) {
  const { choices = [], without = [] } = change;
  const given: Entered = { ...change.given };
  const isAsked = (name: string) =>
    choices.length === 0
      ? !Object.hasOwn(given, name) && !without.includes(name)
      : choices.some(({ field }) => field === name);
  const fields = Object.entries(verb.fields).filter(([name]) => isAsked(name));
  const draft = useDraft<Entered>(`${change.verb} ${Object.values(given).join(' ')}`, () => ({
    ...Object.fromEntries(fields.map(([name, field]) => [name, initialOf(field)])),
    chosen: choices.length === 1 ? (choices[0]?.field ?? '') : '',
    ...change.initial,
    reason: '',
  }));
  const title = change.title ?? verb.title;
  return (
    <DraftDialog
      title={title}
      action={title}
      isDangerous={verb.isDangerous ?? false}
      draft={draft}
      onSend={() => run(change.verb, verb, { ...enteredIn(draft.value), ...given })}
      onSent={onDone}
    >
      {(field) => (
        <>
          <div class="text-dim">{change.effect ?? verb.effect}</div>
          {choices.length === 0 ? (
            <>
              <Facts facts={factsOf(given)} />
              {fields.map(([name, about]) => (
                <VerbField key={name} label={labelOf(name)} field={about} {...field(name)} />
              ))}
            </>
          ) : (
            <Choices
              choices={choices}
              chosen={field('chosen')}
              text={field(String(draft.value.chosen))}
            />
          )}
          {verb.isChange && (
            <Field
              label="Reason"
              hint="Such as the number of a ticket. The reason is recorded with your name."
              {...field('reason')}
              value={String(draft.value.reason)}
              required
              maxLength={500}
            />
          )}
        </>
      )}
    </DraftDialog>
  );
}

/** All fields; with choices only the chosen field: its text, or true if it has no text. */
function enteredIn({ chosen = '', reason = '', ...fields }: Entered): Entered {
  const name = String(chosen);
  return { ...(name === '' ? fields : { [name]: fields[name] || true }), reason };
}

type ChosenField = DraftField<string | boolean>;

/** Radio buttons for exclusive fields, with a text field if the chosen one needs it. */
function Choices({
  choices,
  chosen: { value: chosen, onChange },
  text: { value: text, ...field },
}: {
  choices: Choice[];
  chosen: ChosenField;
  text: ChosenField;
}) {
  const label = choices.find(({ field: name }) => name === chosen)?.label;
  return (
    <>
      <fieldset class="grid gap-3">
        <legend class="mb-2 font-medium">What you know</legend>
        {choices.map(({ field: name, words, effect }) => (
          <label key={name} class="flex gap-3 border border-line p-3 has-checked:border-edge">
            <input
              type="radio"
              name="chosen"
              required
              checked={chosen === name}
              onChange={() => onChange(name)}
              class="mt-1 accent-tungsten"
            />
            <span>
              <span class="font-medium">{words}</span>
              <span class="block text-sm text-dim">{effect}</span>
            </span>
          </label>
        ))}
      </fieldset>
      {label && <Field label={label} value={String(text)} {...field} required />}
    </>
  );
}

async function run(name: string, { isChange }: ShownVerb, fields: Entered): Promise<object> {
  const address = `${VERBS}/${name.replaceAll(' ', '/')}`;
  if (!isChange)
    return (await request('GET', fillPath(address, { query: queryOf(fields) }))) as object;
  const result = (await request('POST', address, { body: fields })) as object;
  const { changed, booked }: { changed?: boolean; booked?: boolean } = result;
  toast((changed ?? booked ?? true) ? 'Done, and recorded.' : 'There was nothing to change.');
  return result;
}

function queryOf({ reason: _, ...fields }: Entered): Record<string, string> {
  const texts = Object.entries(fields).map(([name, value]) => {
    return [name, value === true ? 'yes' : value || ''];
  });
  return Object.fromEntries(texts);
}

function factsOf(given: Entered) {
  return Object.entries(given).map(([name, value]) => ({
    name: labelOf(name),
    value: String(value),
    mono: true,
  }));
}

type FieldOfVerb = ShownVerb['fields'][string];

/** A field's initial value; for a required choice, its first option. */
function initialOf({ kind, choices = [], isOptional }: FieldOfVerb): string | boolean {
  if (kind === 'flag') return false;
  return isOptional ? '' : (choices[0] ?? '');
}

const INPUTS = {
  text: { type: 'text' },
  whole: { type: 'number', step: 1 },
  number: { type: 'number', step: 'any' },
  time: { type: 'date' },
} as const;

function VerbField({
  label,
  field: { kind, about, choices = [], isOptional, min, max },
  value,
  onChange,
  error,
}: DraftField<string | boolean> & { label: string; field: FieldOfVerb }) {
  const words = { label, hint: about, error };
  if (kind === 'flag') return <Switch {...words} checked={value === true} onChange={onChange} />;
  if (kind === 'file') return <FileField {...words} maxBytes={max} onChange={onChange} />;
  if (kind === 'choice') {
    const shown = choices.map((choice) => ({ value: choice, label: labelOf(choice) }));
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
