import type { About } from '../../../../server/src/site/about.ts';
import type { SignInResult } from '../../../../server/src/site/tell-owner.ts';
import { api } from '../../api.ts';
import type { Loaded } from '../../load.ts';
import { ButtonLink } from '../../ui/button.tsx';
import { PasskeyButton } from '../../ui/form/proof.tsx';

interface OtherWaysProps {
  site: Loaded<About>;
  next: string;
  query: Record<string, string>;
  onDone: (result: SignInResult) => Promise<void>;
}

/** Passkeys and the configured issuers. Nothing is shown until they are loaded. */
export function OtherWays({ site, next, query, onDone }: OtherWaysProps) {
  const ways = site.data?.sign_in;
  if (!ways) return null;
  const start = (issuer: string) => `/auth/start/${issuer}?next=${encodeURIComponent(next)}`;
  const issuers = ISSUERS.filter(({ id }) => ways[id]);
  if (!ways.passkeys && issuers.length === 0) return null;
  return (
    <div class="mt-8">
      <div class="ruler mb-5" />
      <p class="mb-3 text-dim">or</p>
      {query.error && (
        <p role="alert" class="mb-4 border-l-4 border-bad pl-4">
          {REASONS.get(query.error) ?? REASONS.get('failed')}
        </p>
      )}
      <div class="grid gap-2.5">
        {ways.passkeys && (
          <PasskeyButton
            options={() => api('POST /auth/passkey/options')}
            send={async (body) => onDone(await api('POST /auth/passkey', { body }))}
          />
        )}
        {issuers.map(({ id, name }) => (
          <ButtonLink key={id} href={start(id)}>
            Continue with {name}
          </ButtonLink>
        ))}
      </div>
    </div>
  );
}

const REASONS = new Map([
  ['denied', 'You did not allow the other service to sign you in here.'],
  ['disabled', 'This account is disabled. Ask the operator of this service.'],
  ['expired', 'That took too long, or was started in another browser. Try again.'],
  ['failed', 'The other service did not sign you in. Try again, or use a code.'],
  ['unavailable', 'The other service can’t be reached. Try again later, or use a code.'],
  ['unverified', 'The other service has not verified your e-mail address. Use a code instead.'],
]);

const ISSUERS = [
  { id: 'github', name: 'GitHub' },
  { id: 'google', name: 'Google' },
  { id: 'oidc', name: 'single sign-on' },
] as const;
