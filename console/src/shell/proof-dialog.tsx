import { useEffect, useRef, useState } from 'preact/hooks';
import type { Me } from '../../../server/src/site/account/me.ts';
import { type ApiFailure, api, whenProofIsRequired } from '../api.ts';
import { useLoad } from '../load.ts';
import type { Body } from '../site-api.ts';
import { useSiteInfo } from '../site-info.ts';
import { Button } from '../ui/button.tsx';
import { Dialog } from '../ui/dialog.tsx';
import { CodeForm, PasskeyButton } from '../ui/form/proof.tsx';
import { useSending } from '../ui/form/sending.tsx';

/** A request that waits until the person has confirmed that it is them, or has not. */
interface Waiting {
  failure: ApiFailure;
  settle: (isProved: boolean) => void;
  proved: Promise<boolean>;
}

/** Asks the person to confirm that it is them, whenever the API requires it. The shell has one. */
export function ProofDialog({ me }: { me: Me }) {
  const [waiting, setWaiting] = useState<Waiting>();
  const current = useRef<Waiting>(undefined);
  useEffect(() => {
    whenProofIsRequired((failure) => {
      if (current.current) return current.current.proved;
      const { promise: proved, resolve: settle } = Promise.withResolvers<boolean>();
      current.current = { failure, settle, proved };
      setWaiting(current.current);
      return proved;
    });
    return () => {
      whenProofIsRequired(async () => false);
      current.current?.settle(false);
    };
  }, []);
  const settle = (isProved: boolean) => {
    current.current?.settle(isProved);
    current.current = undefined;
    setWaiting(undefined);
  };
  if (!waiting) return null;
  return (
    <Dialog onClose={() => settle(false)} title="Confirm that it is you">
      <Proof me={me} failure={waiting.failure} onProved={() => settle(true)} />
    </Dialog>
  );
}

function Proof({
  me: { email },
  failure: { message, details },
  onProved,
}: {
  me: Me;
  failure: ApiFailure;
  onProved: () => void;
}) {
  const [isSent, setSent] = useState(false);
  const isLogged = useSiteInfo().data?.mail_is_logged ?? false;
  const send = async () => {
    const { act } = details as Body<'POST /auth/proof/code'>;
    await api('POST /auth/proof/code', { body: { act } });
    setSent(true);
  };
  const verify = async (code: string) => {
    await api('POST /auth/proof/code/verify', { body: { code } });
    onProved();
  };
  if (!isSent) return <Ways email={email} message={message} send={send} onProved={onProved} />;
  return (
    <CodeForm
      email={email}
      isLogged={isLogged}
      send={send}
      verify={verify}
      action="Confirm"
      working="Confirming"
    />
  );
}

function Ways({
  email,
  message,
  send,
  onProved,
}: {
  email: string;
  message: string;
  send: () => Promise<void>;
  onProved: () => void;
}) {
  const passkeys = useLoad('/console/api/passkeys');
  const sending = useSending(send);
  const hasPasskeys = (passkeys.data?.items.length ?? 0) > 0 && 'PublicKeyCredential' in window;
  return (
    <div class="grid gap-5">
      <p class="text-dim">
        {message} You signed in more than ten minutes ago. What you have entered is kept.
      </p>
      <div class="grid gap-2.5">
        <Button
          look="primary"
          icon="mail"
          busy={sending.isBusy}
          onClick={() => void sending.send()}
        >
          Send me a code
        </Button>
        {hasPasskeys && (
          <PasskeyButton
            options={() => api('POST /auth/proof/passkey/options')}
            send={async (body) =>
              void (await api('POST /auth/proof/passkey', { body }).then(onProved))
            }
          />
        )}
      </div>
      <p role="alert" class="text-sm text-bad empty:hidden">
        {sending.failure?.message}
      </p>
      <p class="text-sm text-dim">
        The code is sent to <span class="break-all text-ink">{email}</span>.
      </p>
    </div>
  );
}
