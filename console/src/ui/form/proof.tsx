import type { ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { asFailure } from '../../load.ts';
import type { Body, Result } from '../../site-api.ts';
import { Button } from '../button.tsx';
import { FieldFrame, INPUT } from './field.tsx';
import { SendButton, submitting, useSending } from './sending.tsx';

const DIGITS = 8;
const RESEND_SECONDS = 30;

interface Props {
  email: string;
  /** Without a mail server, the code is in the service's log. */
  logsMail: boolean;
  action: string;
  working: string;
  verify: (code: string) => Promise<void>;
  sendCode: () => Promise<unknown>;
  children?: ComponentChildren;
}

/** A field for a mailed code, which is verified once all digits are entered. */
export function CodeForm(props: Props) {
  const { verify, sendCode, children } = props;
  const [code, setCode] = useState('');
  const input = useRef<HTMLInputElement>(null);
  useEffect(() => input.current?.focus(), []);
  const { isBusy, failure, ...sending } = useSending((given: string) =>
    verify(given).catch((error) => {
      input.current?.select();
      throw error;
    }),
  );
  const submit = (given: string) => {
    if (given.length === DIGITS && !isBusy) void sending.send(given);
  };
  const change = (text: string) => {
    const digits = text.replace(/\D/g, '').slice(0, DIGITS);
    setCode(digits);
    sending.clear();
    if (digits.length === DIGITS && digits !== code) submit(digits);
  };
  return (
    <form class="grid gap-6" onSubmit={submitting(() => submit(code))}>
      <p class="text-dim">
        {props.logsMail
          ? 'This service has no mail server. Read the code in its log, in the mail to '
          : 'An e-mail with a code was sent to '}
        <span class="break-all text-ink">{props.email.trim()}</span>.
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
        {isBusy ? props.working : props.action}
      </Button>
      <div class="flex flex-wrap gap-2.5">
        <SendAgain send={sendCode} onSent={() => change('')} />
        {children}
      </div>
    </form>
  );
}

/** Sends another code after a pause, invalidating the previous one. */
function SendAgain({ send, onSent }: { send: () => Promise<unknown>; onSent: () => void }) {
  const [wait, setWait] = useState(RESEND_SECONDS);
  const [message, setMessage] = useState('');
  useEffect(() => {
    if (wait === 0) return;
    const timer = setTimeout(() => setWait(wait - 1), 1000);
    return () => clearTimeout(timer);
  }, [wait]);
  const sendAgain = () =>
    send().then(
      () => {
        setWait(RESEND_SECONDS);
        setMessage('A new code was sent. Only the newest one is valid.');
        onSent();
      },
      (error) => setMessage(asFailure(error).message),
    );
  return (
    <>
      <Button
        look="quiet"
        small
        icon="refresh"
        disabled={wait > 0}
        onClick={() => void sendAgain()}
      >
        {wait > 0 ? `Send another code in ${wait} s` : 'Send another code'}
      </Button>
      <p role="status" class="order-last w-full text-sm text-dim">
        {message}
      </p>
    </>
  );
}

interface PasskeyProps {
  options: () => Promise<Result<'POST /auth/passkey/options'>>;
  send: (response: Body<'POST /auth/passkey'>) => Promise<void>;
}

/** Signs with a passkey of this device. The WebAuthn library is loaded on first use. */
export function PasskeyButton({ options, send }: PasskeyProps) {
  const use = async () => {
    const { startAuthentication } = await import('@simplewebauthn/browser');
    const optionsJSON = await options();
    const response = await startAuthentication({ optionsJSON }).catch((error: Error) => {
      throw error.name === 'NotAllowedError' ? new Error('No passkey was chosen.') : error;
    });
    await send(response);
  };
  return (
    <SendButton icon="key" onSend={use}>
      Use a passkey
    </SendButton>
  );
}
