import { useEffect, useRef, useState } from 'preact/hooks';
import { type ApiFailure, api } from '../../api.ts';
import { asFailure } from '../../load.ts';
import { Button } from '../../ui/button.tsx';
import { Field } from '../../ui/form/field.tsx';

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
  const [isBusy, setBusy] = useState(false);
  const [failure, setFailure] = useState<ApiFailure>();
  const send = async (event: Event) => {
    event.preventDefault();
    setBusy(true);
    setFailure(undefined);
    await api('POST /auth/code', { body: { email: email.trim() } }).then(onSent, (error) =>
      setFailure(asFailure(error)),
    );
    setBusy(false);
  };
  return (
    <form ref={form} class="mt-8 grid gap-5" onSubmit={(event) => void send(event)}>
      <Field
        label="E-mail address"
        hint="You get a code by e-mail. There is no password."
        type="email"
        name="email"
        autoComplete="username webauthn"
        required
        maxLength={254}
        value={email}
        error={failure?.message}
        onInput={(event) => setEmail(event.currentTarget.value)}
      />
      <Button type="submit" look="primary" icon="mail" busy={isBusy}>
        {isBusy ? 'Sending' : 'Send the code'}
      </Button>
    </form>
  );
}
