import type { ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { useLocation } from 'preact-iso';
import type { SignInResult } from '../../../../server/src/site/tell-owner.ts';
import { api, besideField } from '../../api.ts';
import { useDraft } from '../../draft.ts';
import { useLoad } from '../../load.ts';
import { useSession } from '../../session.tsx';
import { Button } from '../../ui/button.tsx';
import { Field } from '../../ui/form/field.tsx';
import { CodeForm } from '../../ui/form/proof.tsx';
import { submitting, useSending } from '../../ui/form/sending.tsx';
import { formatDay, formatNumber } from '../../ui/format.tsx';
import { useTitle } from '../../ui/page.tsx';
import still from '../landing/sample.jpg';
import { OtherWays } from './other-ways.tsx';

/** Signs in, and returns to the page that asked for it. The first sign-in creates the account. */
export default function SignInPage() {
  const { query, route } = useLocation();
  const { state, refresh } = useSession();
  const site = useLoad('/console/api/site');
  // Phones may discard the page while its reader opens the mail with the code.
  const { value, set, drop } = useDraft('sign-in', () => ({ email: '', isSent: false }));
  const { email, isSent } = value;
  const [isReopened, setReopened] = useState(false);
  const next = isReopened ? '/settings?reopened=yes' : nextPath(query.next);
  const enter = async ({ reopened }: SignInResult) => {
    setReopened(reopened);
    drop();
    await refresh();
  };
  useTitle('Sign in');
  useEffect(() => {
    if (state.kind !== 'in') return;
    if (next.startsWith('/docs'))
      location.replace(next); // the router does not know the docs
    else route(next, true);
  }, [state.kind]);
  const isLogged = site.data?.mail_is_logged ?? false;
  return (
    <div class="mx-auto grid w-full max-w-[76rem] gap-x-20 gap-y-12 px-4 pt-12 pb-16 sm:px-8 sm:pt-20 lg:grid-cols-[minmax(0,27rem)_1fr]">
      <div>
        <h1 tabIndex={-1} class="text-title">
          {isSent ? 'Enter your code' : 'Sign in'}
        </h1>
        {query.ended === 'yes' && (
          <Notice title="Your session has ended.">
            Sign in with the same address to continue where you were: what you had entered is kept
            in this window.
          </Notice>
        )}
        <Closed until={query.closed} />
        {isSent ? (
          <CodeStep
            email={email}
            isLogged={isLogged}
            onDone={enter}
            onBack={() => set({ isSent: false })}
          />
        ) : (
          <>
            <EmailStep
              email={email}
              setEmail={(text) => set({ email: text })}
              onSent={() => set({ isSent: true })}
            />
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

function Closed({ until = '' }: { until: string | undefined }) {
  if (Number.isNaN(Date.parse(until))) return null;
  return (
    <Notice title="Your account is closed, and you are signed out everywhere.">
      Sign in before {formatDay(until)} to keep it. After that it is erased.
    </Notice>
  );
}

const POINTS = [
  'Your first sign-in creates your account.',
  'API keys are free, as many as you need.',
  'Your statement lists every change of your credits.',
];

function Aside({ credits }: { credits: number }) {
  const points = [
    ...POINTS,
    ...(credits > 0 ? [`${formatNumber(credits)} credits for the playground are included.`] : []),
  ];
  return (
    <div class="hidden self-start pt-2 lg:block">
      <div class="cropped m-[9px]">
        <img
          src={still}
          alt=""
          width={840}
          height={360}
          class="aspect-[21/9] w-full object-cover"
        />
      </div>
      <ul class="mx-[9px] mt-9 grid">
        {points.map((point) => (
          <li key={point} class="border-t border-line py-3 first:border-0">
            {point}
          </li>
        ))}
      </ul>
    </div>
  );
}

interface EmailStepProps {
  email: string;
  setEmail: (email: string) => void;
  onSent: () => void;
}

/** Requests a code by mail. The response is the same for known and unknown addresses. */
function EmailStep({ email, setEmail, onSent }: EmailStepProps) {
  const form = useRef<HTMLFormElement>(null);
  useEffect(() => form.current?.querySelector('input')?.focus(), []);
  const { isBusy, failure, send } = useSending(() =>
    api('POST /auth/code', { body: { email: email.trim() } }).then(onSent),
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
        value={email}
        error={failure && besideField(failure)}
        onChange={setEmail}
      />
      <Button type="submit" look="primary" icon="mail" busy={isBusy}>
        {isBusy ? 'Sending' : 'Send the code'}
      </Button>
    </form>
  );
}

interface CodeStepProps {
  email: string;
  isLogged: boolean;
  onDone: (result: SignInResult) => Promise<void>;
  onBack: () => void;
}

function CodeStep({ email: typed, isLogged, onDone, onBack }: CodeStepProps) {
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

const FIRST = '/playground';

/** The page after the sign-in. A link sent by somebody must not lead to another site. */
function nextPath(given: string | undefined): string {
  if (given === undefined) return FIRST;
  const url = URL.parse(given, location.origin);
  const isOurs = url?.origin === location.origin && given.startsWith('/');
  // What remains of /.//other.example would be another site's URL.
  if (!url || !isOurs || url.pathname.startsWith('//')) return FIRST;
  if (url.pathname === '/sign-in') return FIRST;
  return `${url.pathname}${url.search}`;
}
