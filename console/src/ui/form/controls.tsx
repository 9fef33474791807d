import { useId } from 'preact/hooks';
import { FieldFrame, type FieldProps, INPUT, Problem, type TextProps } from './field.tsx';

type AreaProps = TextProps & {
  name: string;
  rows: number;
  maxLength: number;
  placeholder: string;
};

export function TextArea({ label, hint, error, onChange, ...area }: AreaProps) {
  const count = `${area.value.length} / ${area.maxLength}`;
  return (
    <FieldFrame label={label} hint={hint} error={error} beside={count}>
      {(control) => (
        <textarea
          {...area}
          {...control}
          onInput={(event) => onChange(event.currentTarget.value)}
          class={`${INPUT} py-2.5`}
        />
      )}
    </FieldFrame>
  );
}

interface ChoiceProps extends TextProps {
  /** Labels by value, or a list to keep the order of numbers, which an object would sort. */
  choices: Record<string, string> | (string | { value: string; label: string })[];
}

function choicesOf({ choices }: ChoiceProps) {
  if (!Array.isArray(choices)) {
    return Object.entries(choices).map(([value, label]) => ({ value, label }));
  }
  return choices.map((choice) =>
    typeof choice === 'string' ? { value: choice, label: choice } : choice,
  );
}

/** @param props.required the form can't be sent while the choice with an empty value is selected */
export function Select(props: ChoiceProps & { required?: boolean }) {
  const { label, hint, error, value, required, onChange } = props;
  return (
    <FieldFrame label={label} hint={hint} error={error}>
      {(control) => (
        <select
          {...control}
          required={required}
          value={value}
          onChange={(event) => onChange(event.currentTarget.value)}
          class={`${INPUT} h-[2.625rem]`}
        >
          {choicesOf(props).map((choice) => (
            <option key={choice.value} value={choice.value}>
              {choice.label}
            </option>
          ))}
        </select>
      )}
    </FieldFrame>
  );
}

/** @param props.disabled the values that can't be chosen now */
export function Segments(props: ChoiceProps & { disabled?: string[] }) {
  const { label, hint, error, value, disabled = [], onChange } = props;
  const id = useId();
  return (
    <fieldset class="grid min-w-0 gap-1.5">
      <legend class="mb-1.5 font-medium">{label}</legend>
      {hint && <p class="text-sm text-dim">{hint}</p>}
      <div class="flex flex-wrap gap-y-1 pr-px">
        {choicesOf(props).map((choice) => (
          <label
            key={choice.value}
            class="relative -mr-px inline-flex h-[2.625rem] items-center border border-edge bg-sheet px-3.5 has-checked:z-1 has-checked:border-tungsten has-checked:bg-tungsten has-checked:text-on-tungsten has-disabled:border-line has-disabled:text-dim has-focus-visible:z-2 has-focus-visible:outline-2 has-focus-visible:outline-offset-2 has-focus-visible:outline-focus"
          >
            <input
              type="radio"
              name={id}
              value={choice.value}
              checked={choice.value === value}
              disabled={disabled.includes(choice.value)}
              onChange={() => onChange(choice.value)}
              class="sr-only"
            />
            {choice.label}
          </label>
        ))}
      </div>
      {error && <Problem>{error}</Problem>}
    </fieldset>
  );
}

/** A length in seconds. */
export function Range({
  label,
  hint,
  error,
  value,
  onChange,
  ...limits
}: FieldProps & {
  value: number;
  min: number;
  max: number;
  onChange: (value: number) => void;
}) {
  return (
    <FieldFrame label={label} hint={hint} error={error} beside={`${value} s`}>
      {(control) => (
        <input
          {...control}
          {...limits}
          type="range"
          value={value}
          aria-valuetext={`${value} s`}
          onInput={(event) => onChange(Number(event.currentTarget.value))}
          class="slider"
        />
      )}
    </FieldFrame>
  );
}

interface SwitchProps {
  label: string;
  hint?: string;
  checked: boolean;
  onChange: (checked: boolean) => void;
}

export function Switch({ label, hint, checked, onChange }: SwitchProps) {
  const id = useId();
  return (
    <div class="flex items-start gap-3">
      <span class="relative mt-0.5 inline-flex">
        <input
          id={id}
          type="checkbox"
          role="switch"
          checked={checked}
          aria-describedby={hint ? `${id}-hint` : undefined}
          onChange={(event) => onChange(event.currentTarget.checked)}
          class="peer h-5 w-9 appearance-none rounded-cut border border-edge bg-sheet checked:border-tungsten checked:bg-tungsten"
        />
        <span
          aria-hidden="true"
          class="pointer-events-none absolute top-1 left-1 h-3 w-3 bg-edge transition-transform peer-checked:translate-x-4 peer-checked:bg-on-tungsten"
        />
      </span>
      <div>
        <label for={id} class="font-medium">
          {label}
        </label>
        {hint && (
          <p id={`${id}-hint`} class="text-sm text-dim">
            {hint}
          </p>
        )}
      </div>
    </div>
  );
}
