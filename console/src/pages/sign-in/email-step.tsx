import { useEffect, useRef } from 'preact/hooks';
import { api, besideField } from '../../api.ts';
import { Button } from '../../ui/button.tsx';
import { Field } from '../../ui/form/field.tsx';
import { useSending } from '../../ui/form/sending.ts';

/** Asks for a code by mail. Known and unknown addresses get the same answer. */
export function EmailStep({
  email,
  setEmail,
  onSent,
}: {
  email: string;
  setEmail: (email: string) => void;
  onSent: () => void;
}) {
  const form = useRef<HTMLFormElement>(null);
  useEffect(() => form.current?.querySelector('input')?.focus(), []);
  const { isBusy, failure, send } = useSending(() =>
    api('POST /auth/code', { body: { email: email.trim() } }).then(onSent),
  );
  const submit = (event: Event) => {
    event.preventDefault();
    void send();
  };
  return (
    <form ref={form} class="mt-8 grid gap-5" onSubmit={submit}>
      <Field
        label="E-mail address"
        hint="You get a code by e-mail. There is no password."
        type="email"
        name="email"
        autoComplete="username webauthn"
        required
        maxLength={254}
        value={email}
        error={failure && besideField(failure)}
        onChange={setEmail}
      />
      <Button type="submit" look="primary" icon="mail" busy={isBusy}>
        {isBusy ? 'Sending' : 'Send the code'}
      </Button>
    </form>
  );
}
