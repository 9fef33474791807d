import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { Button } from '../button.tsx';
import { CopyButton } from '../code.tsx';
import { Dialog, useClose } from '../dialog.tsx';

interface NewSecretProps {
  title: string;
  secret: string;
  children: ComponentChildren;
}

/** A dialog that stays until the secret was copied, or the user has confirmed storing it. */
export function NewSecret({ title, secret, children }: NewSecretProps) {
  const close = useClose();
  const [isStored, setStored] = useState(false);
  return (
    <Dialog title={title}>
      <p class="text-dim">
        Copy it now: it is shown only this once. Keep it on your server, never in a browser or an
        app.
      </p>
      <div class="mt-4 border border-line bg-well p-4">
        <p class="figures text-sm break-all" data-secret>
          {secret}
        </p>
        <div class="mt-3">
          <CopyButton
            text={secret}
            words="Copy the secret"
            label="Copy the secret"
            onCopied={() => setStored(true)}
          />
        </div>
      </div>
      {children}
      <div class="mt-7 flex flex-wrap items-center justify-between gap-4">
        <label class="flex items-center gap-3">
          <input
            type="checkbox"
            checked={isStored}
            onChange={(event) => setStored(event.currentTarget.checked)}
            class="size-4 accent-tungsten"
          />
          I have stored it
        </label>
        <Button look="primary" disabled={!isStored} onClick={close}>
          Done
        </Button>
      </div>
    </Dialog>
  );
}
