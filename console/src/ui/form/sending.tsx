import type { ComponentProps } from 'preact';
import { useState } from 'preact/hooks';
import type { ApiFailure } from '../../api.ts';
import { asFailure } from '../../load.ts';
import { Button } from '../button.tsx';

/** What a form or a button sends: whether it is on its way, and why it failed the last time. */
interface Sending<Given extends unknown[]> {
  isBusy: boolean;
  failure: ApiFailure | undefined;
  /** Does the work; a failure stays here. */
  send(...given: Given): Promise<void>;
  /** Drops the failure. */
  clear(): void;
}

export function useSending<Given extends unknown[]>(
  work: (...given: Given) => Promise<unknown>,
): Sending<Given> {
  const [isBusy, setBusy] = useState(false);
  const [failure, setFailure] = useState<ApiFailure>();
  const send = async (...given: Given) => {
    setBusy(true);
    setFailure(undefined);
    await work(...given).catch((error) => setFailure(asFailure(error)));
    setBusy(false);
  };
  return { isBusy, failure, send, clear: () => setFailure(undefined) };
}

/** Opens another page in this window. It never settles, so that its button stays busy. */
export function leaveFor(address: string): Promise<never> {
  location.assign(address);
  return new Promise(() => {});
}

type Props = ComponentProps<typeof Button> & { onSend: () => Promise<unknown> };

/** A button that sends by itself; what went wrong stands below it. */
export function SendButton({ onSend, ...button }: Props) {
  const { isBusy, failure, send } = useSending(onSend);
  return (
    <>
      <Button {...button} busy={isBusy} onClick={() => void send()} />
      <p role="alert" class="mt-2 text-sm text-bad empty:hidden">
        {failure?.message}
      </p>
    </>
  );
}
