import type { ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { useLocation } from 'preact-iso';
import { brand, brandLinks } from '../brand.ts';
import { useListener } from '../load.ts';
import { useSession } from '../session.tsx';
import { ButtonLink } from '../ui/button.tsx';
import { Dialogs } from '../ui/dialog.tsx';
import { Toasts } from '../ui/toast.tsx';
import {
  AccountMenu,
  Balance,
  DESTINATIONS,
  PhoneNavigation,
  TopNavigation,
} from './navigation.tsx';
import { ProofDialogs } from './proof-dialog.tsx';
import { ModeSwitch, TestBar } from './test-mode.tsx';
import { ThemeButton } from './theme.tsx';

const PUBLIC = [
  { href: '/pricing', title: 'Prices' },
  { href: '/docs', title: 'Docs' },
];

const CONSOLE = [
  { href: '/operator', title: 'Operator’s console' },
  { href: '/playground', title: 'Website' },
];

const FOOTER = [
  ...PUBLIC,
  { href: '/status', title: 'Status' },
  { href: '/verify', title: 'Verify a video' },
  { href: '/report', title: 'Report a video' },
];

interface ShellProps {
  navigationCount: number;
  children: ComponentChildren;
}

/** After each navigation the title gets the focus, unless a field has it. */
export function Shell({ navigationCount, children }: ShellProps) {
  const { state } = useSession();
  const main = useRef<HTMLElement>(null);
  const { path } = useLocation();
  useEffect(() => {
    if (navigationCount === 0 || document.activeElement?.matches('main input')) return;
    const title = main.current?.querySelector<HTMLElement>('h1[tabindex]');
    (title ?? main.current)?.focus({ preventScroll: true });
  }, [navigationCount]);
  const me = state.kind === 'in' ? state.me : undefined;
  // The operator's console has no balance and no test mode.
  const isOperatorConsole = me?.is_operator === true && /^\/operator(\/|$)/.test(path);
  const items = isOperatorConsole ? CONSOLE : me ? DESTINATIONS : PUBLIC;
  return (
    <div class="flex min-h-dvh flex-col">
      <a
        href="#main"
        class="sr-only focus:not-sr-only focus:absolute focus:z-50 focus:bg-tungsten focus:px-4 focus:py-3 focus:text-on-tungsten"
      >
        Skip to the content
      </a>
      <OfflineBanner />
      {me?.mode === 'test' && !isOperatorConsole && <TestBar />}
      <header class="sticky top-0 z-30 bg-paper">
        <div class="mx-auto flex h-16 max-w-[76rem] items-center justify-between gap-5 px-4 sm:px-8">
          <div class="flex h-full min-w-0 items-center gap-6 lg:gap-11">
            <a href="/" class={BRAND}>
              <Logo isSmall={me !== undefined} />
            </a>
            <TopNavigation items={items} />
          </div>
          <div class="flex flex-none items-center gap-1.5">
            {me && !isOperatorConsole && (
              // Narrow windows have it in the account menu.
              <div key={me.mode} class="mr-4 hidden xl:block">
                <ModeSwitch mode={me.mode} />
              </div>
            )}
            {me && !isOperatorConsole && <Balance me={me} />}
            <ThemeButton />
            {me && <AccountMenu me={me} isOperatorConsole={isOperatorConsole} />}
            {state.kind === 'out' && path !== '/sign-in' && (
              <ButtonLink href="/sign-in" small>
                Sign in
              </ButtonLink>
            )}
          </div>
        </div>
        <div class="ruler" />
      </header>
      <main id="main" ref={main} class="min-h-[calc(100dvh-4.6rem)] flex-1" tabIndex={-1}>
        {children}
      </main>
      {!isOperatorConsole && <Footer />}
      {me && !isOperatorConsole && <PhoneNavigation />}
      {me && <Dialogs key={me.account_id} />}
      {me && <ProofDialogs email={me.email} />}
      <Toasts />
    </div>
  );
}

function Footer() {
  return (
    <footer class="mt-10">
      <div class="ruler" />
      <div class="mx-auto flex max-w-[76rem] flex-wrap justify-between gap-6 px-4 py-9 text-sm text-dim sm:px-8">
        <p>Video generation with prepaid credits.</p>
        <ul class="flex flex-wrap gap-x-6 gap-y-2">
          {[...FOOTER, ...brandLinks()].map(({ href, title }) => (
            <li key={href}>
              <a href={href} class="hover:text-ink">
                {title}
              </a>
            </li>
          ))}
        </ul>
      </div>
    </footer>
  );
}

const BRAND = 'inline-flex min-w-0 items-center gap-2.5 text-lg font-semibold tracking-[-0.03em]';

/** A logo that isn't an icon replaces the name. */
function Logo({ isSmall }: { isSmall: boolean }) {
  const { name, logo } = brand;
  const image = logo && (
    <img
      src={logo.url}
      alt={logo.is_icon ? '' : name}
      width={logo.width}
      height={logo.height}
      class="h-[26px] w-auto max-w-40 flex-none object-contain"
    />
  );
  if (logo && !logo.is_icon) return image;
  return (
    <>
      {image ?? <DefaultLogo />}
      <span
        class={`max-w-64 truncate pb-0.5 ${isSmall ? 'max-[28rem]:sr-only md:max-lg:sr-only' : ''}`}
      >
        {name}
      </span>
    </>
  );
}

function DefaultLogo() {
  return (
    <svg viewBox="0 0 26 26" width="26" height="26" aria-hidden="true" class="flex-none">
      <path
        d="M1 8V1h7M18 1h7v7M25 18v7h-7M8 25H1v-7"
        fill="none"
        stroke="currentColor"
        stroke-width="2"
      />
      <path d="M6 8.5h14v9H6z" class="fill-tungsten" />
    </svg>
  );
}

function OfflineBanner() {
  const [isOnline, setOnline] = useState(navigator.onLine);
  useListener(['online', 'offline'], () => setOnline(navigator.onLine));
  return (
    <div role="status">
      {!isOnline && (
        <p class="bg-tungsten px-4 py-2 text-center text-sm font-medium text-on-tungsten">
          You are offline. This page may be out of date, and nothing can be sent.
        </p>
      )}
    </div>
  );
}
