import type { Body, Result } from '../site-api.ts';
import { SendButton } from './form/send-button.tsx';

interface Props {
  /** Reads what the browser asks the passkey. */
  options: () => Promise<Result<'POST /auth/passkey/options'>>;
  /** Sends what the passkey answers. */
  send: (response: Body<'POST /auth/passkey'>) => Promise<void>;
}

/** Uses a passkey of this device. Its part of the library is loaded when it is used. */
export function PasskeyButton({ options, send }: Props) {
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
