import type { ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { useLocation } from 'preact-iso';
import type { About } from '../../../../server/src/site/about.ts';
import type { SignInResult } from '../../../../server/src/site/tell-owner.ts';
import { api, besideField } from '../../api.ts';
import { brand } from '../../brand.ts';
import { type Draft, useDraft } from '../../draft.ts';
import { type Loaded, useLoad } from '../../load.ts';
import { useSession } from '../../session.tsx';
import { Button, ButtonLink } from '../../ui/button.tsx';
import { Field } from '../../ui/form/field.tsx';
import { CodeForm, PasskeyButton } from '../../ui/form/proof.tsx';
import { submitting, useSending } from '../../ui/form/sending.tsx';
import { formatDay, formatNumber } from '../../ui/format.tsx';
import { useTitle } from '../../ui/page.tsx';
import still from '../landing/sample.jpg';

/** Signs in, and returns to the page that asked for it. The first sign-in creates the account. */
export default function SignInPage() {
  const { query, route } = useLocation();
  const { state, refresh } = useSession();
  const site = useLoad('/console/api/site');
  // Phones may discard the page while its reader opens the mail with the code.
  const draft = useDraft('sign-in', () => ({ email: '', isSent: false }));
  const [isReopened, setReopened] = useState(false);
  const next = isReopened ? '/settings?reopened=yes' : nextPath(query.next);
  const enter: Enter = async ({ reopened }) => {
    setReopened(reopened);
    draft.drop();
    await refresh();
  };
  useTitle('Sign in');
  useEffect(() => {
    if (state.kind !== 'in') return;
    if (next.startsWith('/docs'))
      location.replace(next); // the router does not know the docs
    else route(next, true);
  }, [state.kind]);
  const logsMail = site.data?.mail_is_logged ?? false;
  return (
    <div class="mx-auto grid w-full max-w-[76rem] gap-x-20 gap-y-12 px-4 pt-12 pb-16 sm:px-8 sm:pt-20 lg:grid-cols-[minmax(0,27rem)_1fr]">
      <div>
        <h1 tabIndex={-1} class="text-title">
          {draft.value.isSent ? 'Enter your code' : 'Sign in'}
        </h1>
        {query.ended === 'yes' && (
          <Notice title="Your session has ended.">
            Sign in with the same address to continue where you were: what you had entered is kept
            in this window.
          </Notice>
        )}
        <AccountClosed until={query.closed} />
        {draft.value.isSent ? (
          <CodeStep draft={draft} logsMail={logsMail} onDone={enter} />
        ) : (
          <>
            <EmailStep draft={draft} />
            <OtherWays site={site} next={next} query={query} onDone={enter} />
          </>
        )}
      </div>
      <Aside credits={site.data?.signup_credits ?? 0} />
    </div>
  );
}

function Notice({ title, children }: { title: string; children: ComponentChildren }) {
  return (
    <div role="status" class="mt-6 border-l-4 border-tungsten pl-4">
      <p class="font-medium">{title}</p>
      <p class="mt-1 text-dim">{children}</p>
    </div>
  );
}

function AccountClosed({ until = '' }: { until: string | undefined }) {
  if (Number.isNaN(Date.parse(until))) return null;
  return (
    <Notice title="Your account is closed, and you are signed out everywhere.">
      Sign in before {formatDay(until)} to keep it. After that it is erased.
    </Notice>
  );
}

function Aside({ credits }: { credits: number }) {
  const points = [
    'Your first sign-in creates your account.',
    'API keys are free, as many as you need.',
    'Your statement lists every change of your credits.',
  ];
  if (credits > 0) points.push(`${formatNumber(credits)} credits for the playground are included.`);
  return (
    <div class="hidden self-start pt-2 lg:block">
      {brand.shows_test_patterns && (
        <div class="cropped m-[9px] mb-9">
          <img
            src={still}
            alt=""
            width={840}
            height={360}
            class="aspect-[21/9] w-full object-cover"
          />
        </div>
      )}
      <ul class="mx-[9px] grid">
        {points.map((point) => (
          <li key={point} class="border-t border-line py-3 first:border-0">
            {point}
          </li>
        ))}
      </ul>
    </div>
  );
}

type SignInDraft = Draft<{ email: string; isSent: boolean }>;
type Enter = (result: SignInResult) => Promise<void>;

/** Requests a code by mail. The response is the same for known and unknown addresses. */
function EmailStep({ draft: { value, set } }: { draft: SignInDraft }) {
  const form = useRef<HTMLFormElement>(null);
  useEffect(() => form.current?.querySelector('input')?.focus(), []);
  const { isBusy, failure, send } = useSending(() =>
    sendCode(value).then(() => set({ isSent: true })),
  );
  return (
    <form ref={form} class="mt-8 grid gap-5" onSubmit={submitting(send)}>
      <Field
        label="E-mail address"
        hint="You get a code by e-mail. There is no password."
        type="email"
        name="email"
        autoComplete="username webauthn"
        required
        maxLength={254}
        value={value.email}
        error={failure && besideField(failure)}
        onChange={(email) => set({ email })}
      />
      <Button type="submit" look="primary" icon="mail" busy={isBusy}>
        {isBusy ? 'Sending' : 'Send the code'}
      </Button>
    </form>
  );
}

function sendCode({ email }: SignInDraft['value']) {
  return api('POST /auth/code', { body: { email: email.trim() } });
}

interface CodeStepProps {
  draft: SignInDraft;
  logsMail: boolean;
  onDone: Enter;
}

function CodeStep({ draft, logsMail, onDone }: CodeStepProps) {
  const email = draft.value.email.trim();
  return (
    <div class="mt-4">
      <CodeForm
        email={email}
        logsMail={logsMail}
        action="Sign in"
        working="Signing in"
        verify={async (code) => {
          await onDone(await api('POST /auth/code/verify', { body: { email, code } }));
        }}
        sendCode={() => sendCode(draft.value)}
      >
        <Button look="quiet" small onClick={() => draft.set({ isSent: false })}>
          Use another address
        </Button>
      </CodeForm>
    </div>
  );
}

interface OtherWaysProps {
  site: Loaded<About>;
  next: string;
  query: Record<string, string>;
  onDone: Enter;
}

/** Passkeys and the configured issuers. Nothing is shown until they are loaded. */
function OtherWays({ site, next, query, onDone }: OtherWaysProps) {
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
          {FAILURES.get(query.error) ?? FAILURES.get('failed')}
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

const FAILURES = new Map([
  ['denied', 'You did not allow the other service to sign you in here.'],
  [
    'disabled',
    'This account can’t be used: it was deleted, or the operator disabled it. If you did not delete it, ask the operator of this service.',
  ],
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

const DEFAULT_PAGE = '/playground';

/** The page after the sign-in. A link sent by somebody must not lead to another site. */
function nextPath(given = DEFAULT_PAGE): string {
  const url = URL.parse(given, location.origin);
  const isOurs = url?.origin === location.origin && given.startsWith('/');
  // The path of /.//other.example is //other.example, which would lead to that host.
  if (!isOurs || url.pathname.startsWith('//') || url.pathname === '/sign-in') return DEFAULT_PAGE;
  return `${url.pathname}${url.search}`;
}
