import type { SignInResult } from '../../../../server/src/site/auth/reopened.ts';
import { api } from '../../api.ts';
import { Button } from '../../ui/button.tsx';
import { CodeForm } from '../../ui/form/code-form.tsx';

/** Signs in by the mailed code. */
export function CodeStep({
  email: typed,
  isLogged,
  onDone,
  onBack,
}: {
  email: string;
  isLogged: boolean;
  onDone: (result: SignInResult) => Promise<void>;
  onBack: () => void;
}) {
  const email = typed.trim();
  return (
    <div class="mt-4">
      <CodeForm
        email={email}
        isLogged={isLogged}
        action="Sign in"
        working="Signing in"
        verify={async (code) => {
          const body = { email, code };
          await onDone(await api('POST /auth/code/verify', { body }));
        }}
        send={() => api('POST /auth/code', { body: { email } })}
      >
        <Button look="quiet" small onClick={onBack}>
          Use another address
        </Button>
      </CodeForm>
    </div>
  );
}
