import { useEffect, useRef, useState } from 'preact/hooks';
import { type ApiFailure, api } from '../../api.ts';
import { asFailure } from '../../load.ts';
import { Button } from '../../ui/button.tsx';
import { FieldFrame, INPUT } from '../../ui/form/field.tsx';

const DIGITS = 8;
/** How long to wait before another code can be sent. */
const AGAIN_SECONDS = 30;

/** Takes the mailed code, and tries it as soon as it is whole. */
export function CodeStep({
  email,
  isLogged,
  onDone,
  onBack,
}: {
  email: string;
  /** Whether there is no mail server, so that the code is in the log of the service. */
  isLogged: boolean;
  onDone: () => Promise<void>;
  onBack: () => void;
}) {
  const [code, setCode] = useState('');
  const [isBusy, setBusy] = useState(false);
  const [failure, setFailure] = useState<ApiFailure>();
  const input = useRef<HTMLInputElement>(null);
  useEffect(() => input.current?.focus(), []);
  const verify = async (given: string) => {
    if (given.length !== DIGITS || isBusy) return;
    setBusy(true);
    setFailure(undefined);
    const body = { email: email.trim(), code: given };
    await api('/auth/code/verify', { method: 'POST', body }).then(onDone, (error) => {
      setFailure(asFailure(error));
      input.current?.select();
    });
    setBusy(false);
  };
  const change = (text: string) => {
    const digits = text.replace(/\D/g, '').slice(0, DIGITS);
    setCode(digits);
    setFailure(undefined);
    if (digits.length === DIGITS && digits !== code) void verify(digits);
  };
  return (
    <form
      class="mt-4 grid gap-6"
      onSubmit={(event) => {
        event.preventDefault();
        void verify(code);
      }}
    >
      <p class="text-lg text-dim">
        {isLogged
          ? 'This service has no mail server. Read the code in its log, in the mail to '
          : 'An e-mail with a code was sent to '}
        <span class="break-all text-ink">{email.trim()}</span>.
      </p>
      <FieldFrame label="Code of eight digits" error={failure?.message}>
        {(control) => (
          <input
            {...control}
            ref={input}
            type="text"
            inputMode="numeric"
            autoComplete="one-time-code"
            spellcheck={false}
            value={code}
            onInput={(event) => change(event.currentTarget.value)}
            class={`${INPUT} figures h-16 text-center text-[1.75rem] tracking-[0.22em]`}
          />
        )}
      </FieldFrame>
      <Button type="submit" look="primary" busy={isBusy} disabled={code.length !== DIGITS}>
        {isBusy ? 'Signing in' : 'Sign in'}
      </Button>
      <div class="flex flex-wrap gap-2.5">
        <SendAgain email={email} onSent={() => change('')} />
        <Button look="quiet" small onClick={onBack}>
          Use another address
        </Button>
      </div>
    </form>
  );
}

/** Sends another code, after a while. The one before is not valid any more then. */
function SendAgain({ email, onSent }: { email: string; onSent: () => void }) {
  const [wait, setWait] = useState(AGAIN_SECONDS);
  const [said, setSaid] = useState('');
  useEffect(() => {
    if (wait === 0) return;
    const timer = setTimeout(() => setWait(wait - 1), 1000);
    return () => clearTimeout(timer);
  }, [wait]);
  const send = () =>
    api('/auth/code', { method: 'POST', body: { email: email.trim() } }).then(
      () => {
        setWait(AGAIN_SECONDS);
        setSaid('A new code was sent. Only the newest one is valid.');
        onSent();
      },
      (error) => setSaid(asFailure(error).message),
    );
  return (
    <>
      <Button look="quiet" small icon="refresh" disabled={wait > 0} onClick={() => void send()}>
        {wait > 0 ? `Send another code in ${wait} s` : 'Send another code'}
      </Button>
      <p role="status" class="order-last w-full text-sm text-dim">
        {said}
      </p>
    </>
  );
}
