import type { ComponentProps } from 'preact';
import { useState } from 'preact/hooks';
import type { ApiFailure } from '../../api.ts';
import { asFailure } from '../../load.ts';
import { Button } from '../button.tsx';

/** `send` does the work; an error becomes `failure`. */
export function useSending<Given extends unknown[]>(work: (...given: Given) => Promise<unknown>) {
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

/** A form's submit listener: calls `send`, and keeps the browser from submitting the form. */
export function submitting(send: () => unknown): (event: Event) => void {
  return (event) => {
    event.preventDefault();
    void send();
  };
}

/** Navigates away. Never settles, so that the button stays busy until the page is gone. */
export function leaveFor(address: string): Promise<never> {
  location.assign(address);
  return new Promise(() => {});
}

type Props = ComponentProps<typeof Button> & { onSend: () => Promise<unknown> };

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
