import type { Body, Result } from '../site-api.ts';
import { Button } from './button.tsx';
import { useSending } from './form/sending.ts';

/** Uses a passkey of this device. Its part of the library is loaded when it is used. */
export function PasskeyButton({
  options,
  send,
}: {
  /** Reads what the browser asks the passkey. */
  options: () => Promise<Result<'POST /auth/passkey/options'>>;
  /** Sends what the passkey answers. */
  send: (response: Body<'POST /auth/passkey'>) => Promise<void>;
}) {
  const {
    isBusy,
    failure,
    send: use,
  } = useSending(async () => {
    const { startAuthentication } = await import('@simplewebauthn/browser');
    const optionsJSON = await options();
    const response = await startAuthentication({ optionsJSON }).catch((error: Error) => {
      throw error.name === 'NotAllowedError' ? new Error('No passkey was chosen.') : error;
    });
    await send(response);
  });
  return (
    <>
      <Button icon="key" busy={isBusy} onClick={() => void use()}>
        Use a passkey
      </Button>
      <p role="alert" class="text-sm text-bad empty:hidden">
        {failure?.message}
      </p>
    </>
  );
}
