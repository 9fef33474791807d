import { useState } from 'preact/hooks';
import type { NewApiKey } from '../../../../server/src/site/keys/key-shapes.ts';
import { Button } from '../../ui/button.tsx';
import { Code, CopyButton } from '../../ui/code.tsx';
import { Dialog } from '../../ui/dialog.tsx';

function curlWith(secret: string): string {
  return `curl -s ${location.origin}/api/v1/video/generations \\
  -H "Authorization: Bearer ${secret}" \\
  -H "Content-Type: application/json" \\
  -H "Idempotency-Key: first-$(date +%s)" \\
  -d '{"prompt": "A lighthouse at dawn, waves below"}'`;
}

/**
 * Shows the secret of a key that was just made. It can't be shown again, so the dialog stays until
 * the secret was copied, or its reader says that they have stored it.
 */
export function NewSecret({ made, onClose }: { made: NewApiKey; onClose: () => void }) {
  const { key, secret } = made;
  const [isStored, setStored] = useState(false);
  return (
    <Dialog open isKept onClose={onClose} title={`The secret of “${key.name}”`}>
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
      <p class="mt-6 mb-2 font-medium">Make a first video with it</p>
      <Code text={curlWith(secret)} label="A first request" />
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
        <Button look="primary" disabled={!isStored} onClick={onClose}>
          Done
        </Button>
      </div>
    </Dialog>
  );
}
