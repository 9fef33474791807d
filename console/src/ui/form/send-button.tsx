import type { ComponentProps } from 'preact';
import { Button } from '../button.tsx';
import { useSending } from './sending.ts';

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
