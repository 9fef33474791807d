import { useState } from 'preact/hooks';
import { asFailure } from '../load.ts';
import type { Body, Result } from '../site-api.ts';
import { Button } from './button.tsx';

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
  const [isBusy, setBusy] = useState(false);
  const [failure, setFailure] = useState('');
  const use = async () => {
    const { startAuthentication } = await import('@simplewebauthn/browser');
    await send(await startAuthentication({ optionsJSON: await options() }));
  };
  const start = async () => {
    setBusy(true);
    setFailure('');
    await use().catch((error: Error) =>
      setFailure(
        error.name === 'NotAllowedError' ? 'No passkey was chosen.' : asFailure(error).message,
      ),
    );
    setBusy(false);
  };
  return (
    <>
      <Button icon="key" busy={isBusy} onClick={() => void start()}>
        Use a passkey
      </Button>
      <p role="alert" class="text-sm text-bad empty:hidden">
        {failure}
      </p>
    </>
  );
}
