import { useState } from 'preact/hooks';
import { api } from '../api.ts';
import { asFailure } from '../load.ts';
import { Button } from './button.tsx';

/**
 * Uses a passkey of this device. Its part of the library is loaded when it is used.
 * @param props.path of the API; its options are below it
 */
export function PasskeyButton<Result>({
  path,
  onDone,
}: {
  path: string;
  onDone: (result: Result) => Promise<void> | void;
}) {
  const [isBusy, setBusy] = useState(false);
  const [failure, setFailure] = useState('');
  const use = async () => {
    const { startAuthentication } = await import('@simplewebauthn/browser');
    const optionsJSON = await api<Parameters<typeof startAuthentication>[0]['optionsJSON']>(
      `${path}/options`,
      { method: 'POST', body: {} },
    );
    const body = await startAuthentication({ optionsJSON });
    await onDone(await api<Result>(path, { method: 'POST', body }));
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
