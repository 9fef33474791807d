import type { ComponentChildren, InputHTMLAttributes } from 'preact';
import { useId } from 'preact/hooks';

export interface FieldProps {
  label: string;
  hint?: ComponentChildren;
  error?: string | undefined;
}

interface ControlProps {
  id: string;
  'aria-describedby': string | undefined;
  'aria-invalid': boolean;
}

/** A label, hint, control and error. Use `Field` for a plain text input. */
export function FieldFrame({
  label,
  hint,
  error,
  beside,
  children,
}: FieldProps & {
  /** To the right of the label, such as a count. */
  beside?: ComponentChildren;
  children: (control: ControlProps) => ComponentChildren;
}) {
  const id = useId();
  const parts = [hint && `${id}-hint`, error && `${id}-error`].filter(Boolean).join(' ');
  return (
    <div class="grid gap-1.5">
      <div class="flex items-baseline justify-between gap-4">
        <label for={id} class="font-medium">
          {label}
        </label>
        {beside && <span class="figures text-sm text-dim">{beside}</span>}
      </div>
      {hint && (
        <p id={`${id}-hint`} class="text-sm text-dim">
          {hint}
        </p>
      )}
      {children({ id, 'aria-describedby': parts || undefined, 'aria-invalid': Boolean(error) })}
      {error && <Problem id={`${id}-error`}>{error}</Problem>}
    </div>
  );
}

/** An error below a control or a button; hidden while empty. */
export function Problem({ id, children }: { id?: string; children: ComponentChildren }) {
  return (
    <p id={id} role="alert" class="text-sm text-bad empty:hidden">
      {children}
    </p>
  );
}

export const INPUT =
  'w-full rounded-cut border border-edge bg-sheet px-3 text-ink placeholder:text-dim hover:border-ink aria-invalid:border-bad disabled:border-line disabled:bg-well disabled:text-dim';

export interface TextProps extends FieldProps {
  value: string;
  onChange: (text: string) => void;
}

/** Returns the `value` and `onChange` of a field by its name. */
export function binding<Value>(value: Value, onChange: (change: Partial<Value>) => void) {
  return <Name extends keyof Value>(name: Name) => ({
    value: value[name],
    onChange: (next: Value[Name]) => onChange({ [name]: next } as unknown as Partial<Value>),
  });
}

type InputProps = Omit<
  InputHTMLAttributes<HTMLInputElement>,
  keyof TextProps | keyof ControlProps | 'type' | 'class' | 'list' | 'role'
> &
  (
    | { type?: 'text' }
    | { type: 'email' }
    | { type: 'url' }
    | { type: 'search' }
    | { type: 'number' }
    | { type: 'date' }
  );

export function Field({ label, hint, error, onChange, ...input }: TextProps & InputProps) {
  return (
    <FieldFrame label={label} hint={hint} error={error}>
      {(control) => (
        <input
          {...input}
          {...control}
          onInput={(event) => onChange(event.currentTarget.value)}
          class={`${INPUT} h-[2.625rem]`}
        />
      )}
    </FieldFrame>
  );
}
