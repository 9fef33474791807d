import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import type { GivenChange, ShownVerb } from '../../../../server/src/site/operator/verb-routes.ts';
import { request } from '../../api.ts';
import { useDraft } from '../../draft.ts';
import { asFailure, useLoad } from '../../load.ts';
import { Button } from '../../ui/button.tsx';
import { Facts } from '../../ui/card.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { Segments, Switch } from '../../ui/form/controls.tsx';
import { Field } from '../../ui/form/field.tsx';
import { Load } from '../../ui/states.tsx';
import { toast } from '../../ui/toast.tsx';

/** A change that an operator is about to make: a verb, and what the page knows of its fields. */
export type Change = GivenChange & {
  /** What fields hold at first. */
  initial?: Record<string, string>;
  /** In place of the verb's own words. */
  title?: string;
  effect?: string;
};

interface Props {
  change: Change;
  /** Controls of the page, in place of those of the fields. Their values are in the change. */
  controls?: ComponentChildren;
  onClose: () => void;
  onDone: (result: object) => void;
}

const VERBS = '/console/api/operator/verbs';

/** Asks for the fields of a verb and the reason, makes the change and says what became of it. */
export function VerbDialog(props: Props) {
  const { change, onClose } = props;
  const verbs = useLoad(VERBS);
  const verb = verbs.data?.[change.verb];
  return (
    <Dialog open onClose={onClose} title={change.title ?? verb?.title ?? change.verb}>
      <Load from={{ ...verbs, data: verb }}>{(shown) => <VerbForm {...props} verb={shown} />}</Load>
    </Dialog>
  );
}

type Entered = Record<string, string | boolean>;

function VerbForm({ change, verb, controls, onClose, onDone }: Props & { verb: ShownVerb }) {
  const given: Entered = { ...change.given };
  const asked = controls
    ? []
    : Object.entries(verb.fields).filter(([name]) => !Object.hasOwn(given, name));
  const draft = useDraft<Entered>(`${change.verb} ${Object.values(given).join(' ')}`, () => ({
    ...Object.fromEntries(asked.map(([name, field]) => [name, emptyOf(field)])),
    ...change.initial,
    reason: '',
  }));
  const [isBusy, setBusy] = useState(false);
  const [failure, setFailure] = useState('');
  const close = () => {
    draft.drop();
    onClose();
  };
  const submit = async (event: Event) => {
    event.preventDefault();
    setBusy(true);
    setFailure('');
    try {
      const body = { ...draft.value, ...given };
      const result = await request('POST', `${VERBS}/${change.verb.replaceAll(' ', '/')}`, {
        body,
      });
      const { changed, booked } = result as { changed?: boolean; booked?: boolean };
      const isChanged = changed ?? booked ?? true;
      toast(isChanged ? 'Done, and recorded.' : 'There was nothing to change.');
      onDone(result as object);
      close();
    } catch (error) {
      setFailure(asFailure(error).message);
      setBusy(false);
    }
  };
  return (
    <form onSubmit={(event) => void submit(event)} class="grid gap-5">
      <div class="text-dim">{change.effect ?? verb.effect}</div>
      {controls ?? <Facts facts={factsOf(given)} />}
      {asked.map(([name, field]) => (
        <VerbField
          key={name}
          label={labelOf(name)}
          field={field}
          value={draft.value[name] ?? ''}
          onChange={(value) => draft.set({ [name]: value })}
        />
      ))}
      <Field
        label="Reason"
        hint="It is recorded with your name, such as the number of a ticket."
        value={String(draft.value.reason)}
        onInput={(event) => draft.set({ reason: event.currentTarget.value })}
        required
        maxLength={500}
        autoComplete="off"
      />
      <p role="alert" class="text-bad empty:hidden">
        {failure}
      </p>
      <div class="flex flex-wrap justify-end gap-2.5">
        <Button onClick={close}>Cancel</Button>
        <Button look={verb.isDangerous ? 'danger' : 'primary'} type="submit" busy={isBusy}>
          {change.title ?? verb.title}
        </Button>
      </div>
    </form>
  );
}

type FieldOfVerb = ShownVerb['fields'][string];

/** What a field holds at first; of a choice that must be made, its first value. */
function emptyOf({ kind, choices = [], isOptional }: FieldOfVerb): string | boolean {
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
function VerbField({
  label,
  field: { kind, about, choices = [], isOptional, min, max },
  value,
  onChange,
}: {
  label: string;
  field: FieldOfVerb;
  value: string | boolean;
  onChange: (value: string | boolean) => void;
}) {
  const words = { label, hint: about };
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
      onInput={(event) => onChange(event.currentTarget.value)}
      required={!isOptional}
      autoComplete="off"
    />
  );
}

function factsOf(given: Entered) {
  return Object.entries(given).map(([name, value]) => ({
    name: labelOf(name),
    value: String(value),
    mono: true,
  }));
}

/** `expires_at`: Expires at. */
function labelOf(name: string): string {
  return `${name.charAt(0).toUpperCase()}${name.slice(1).replaceAll('_', ' ')}`;
}
