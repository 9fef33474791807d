import { useEffect, useLayoutEffect, useState } from 'preact/hooks';
import { type ApiFailure, api, whenProofIsRequired } from '../api.ts';
import { useLoad } from '../load.ts';
import type { Body } from '../site-api.ts';
import { Button } from '../ui/button.tsx';
import { Dialog, openDialog, useClose } from '../ui/dialog.tsx';
import { Problem } from '../ui/form/field.tsx';
import { CodeForm, PasskeyButton } from '../ui/form/proof.tsx';
import { useSending } from '../ui/form/sending.tsx';

/** Asks for a fresh proof whenever the API requires one. Rendered once, by the shell. */
export function ProofDialogs({ email }: { email: string }) {
  useEffect(() => {
    let asked: Promise<boolean> | undefined;
    whenProofIsRequired((failure) => {
      asked ??= new Promise<boolean>((settle) => {
        openDialog(<Proof email={email} failure={failure} settle={settle} />);
      }).finally(() => {
        asked = undefined;
      });
      return asked;
    });
    return () => whenProofIsRequired(async () => false);
  }, [email]);
  return null;
}

interface ProofProps {
  email: string;
  failure: ApiFailure;
  /** Called with whether the proof was given; only the first call counts. */
  settle: (isProved: boolean) => void;
}

function Proof({ email, failure: { message, details }, settle }: ProofProps) {
  const close = useClose();
  const [isSent, setSent] = useState(false);
  const logsMail = useLoad('/console/api/site').data?.mail_is_logged ?? false;
  // A layout effect, because a dialog that is closed at once runs no other effect.
  useLayoutEffect(() => () => settle(false), []);
  const onProved = () => {
    settle(true);
    close();
  };
  const send = async () => {
    const { act } = details as Body<'POST /auth/proof/code'>;
    await api('POST /auth/proof/code', { body: { act } });
    setSent(true);
  };
  const verify = async (code: string) => {
    await api('POST /auth/proof/code/verify', { body: { code } });
    onProved();
  };
  return (
    <Dialog title="Confirm that it is you">
      {isSent ? (
        <CodeForm
          email={email}
          logsMail={logsMail}
          sendCode={send}
          verify={verify}
          action="Confirm"
          working="Confirming"
        />
      ) : (
        <Ways email={email} message={message} send={send} onProved={onProved} />
      )}
    </Dialog>
  );
}

interface WaysProps {
  email: string;
  message: string;
  send: () => Promise<void>;
  onProved: () => void;
}

function Ways({ email, message, send, onProved }: WaysProps) {
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
      <Problem>{sending.failure?.message}</Problem>
      <p class="text-sm text-dim">
        The code is sent to <span class="break-all text-ink">{email}</span>.
      </p>
    </div>
  );
}
