import { useEffect, useRef } from 'preact/hooks';
import { useLocation } from 'preact-iso';
import type { Me } from '../../../server/src/site/account/me.ts';
import { useListener } from '../load.ts';
import { availableOf, useSession } from '../session.tsx';
import { Credits } from '../ui/format.tsx';
import { Icon, type IconName } from '../ui/icon.tsx';
import { toastFailure } from '../ui/toast.tsx';
import { ModeSwitch } from './test-mode.tsx';

interface Destination {
  href: string;
  title: string;
  icon: IconName;
}

export const DESTINATIONS: Destination[] = [
  { href: '/playground', title: 'Playground', icon: 'play' },
  { href: '/videos', title: 'Videos', icon: 'frames' },
  { href: '/usage', title: 'Usage', icon: 'chart' },
  { href: '/keys', title: 'API keys', icon: 'key' },
  { href: '/webhooks', title: 'Webhooks', icon: 'nodes' },
  { href: '/credits', title: 'Credits', icon: 'coins' },
];

/** Whether narrow windows show the page in their navigation. The account menu has the others. */
function isInNarrowNavigation({ href }: Pick<Destination, 'href'>): boolean {
  return href !== '/webhooks';
}

function useCurrent(): (href: string) => 'page' | undefined {
  const { path } = useLocation();
  return (href) => (path === href || path.startsWith(`${href}/`) ? 'page' : undefined);
}

export function TopNavigation({ items }: { items: Pick<Destination, 'href' | 'title'>[] }) {
  const current = useCurrent();
  return (
    <nav aria-label="Main" class="hidden h-full md:block">
      <ul class="flex h-full gap-5 lg:gap-7">
        {items.map(({ href, title }) => (
          <li
            key={href}
            class={`h-full ${isInNarrowNavigation({ href }) ? '' : 'hidden lg:block'}`}
          >
            <a
              href={href}
              aria-current={current(href)}
              class="playhead relative flex h-full items-center whitespace-nowrap text-dim hover:text-ink aria-[current=page]:text-ink"
            >
              {title}
            </a>
          </li>
        ))}
      </ul>
    </nav>
  );
}

export function PhoneNavigation() {
  const current = useCurrent();
  return (
    <nav
      aria-label="Main"
      class="sticky bottom-0 z-30 border-t border-line bg-sheet pb-[env(safe-area-inset-bottom)] md:hidden"
    >
      <ul class="grid grid-cols-5">
        {DESTINATIONS.filter(isInNarrowNavigation).map(({ href, title, icon }) => (
          <li key={href}>
            <a
              href={href}
              aria-current={current(href)}
              class="grid justify-items-center gap-1 border-t-2 border-transparent py-2 text-xs text-dim aria-[current=page]:border-tungsten aria-[current=page]:text-ink"
            >
              <Icon name={icon} size={20} />
              {title}
            </a>
          </li>
        ))}
      </ul>
    </nav>
  );
}

export function Balance({ me }: { me: Me }) {
  const isTest = me.mode === 'test';
  return (
    <a
      href="/credits"
      class={`inline-flex h-9 items-center gap-2 border px-3 text-sm hover:border-ink ${isTest ? 'border-tungsten bg-well' : 'border-line'}`}
    >
      <span aria-hidden="true" class="h-3 w-[5px] bg-tungsten" />
      <Credits value={availableOf(me)} />
      <span aria-hidden="true" class="text-dim">
        {isTest && <span class="lg:max-xl:hidden">test </span>}
        <span class="sm:hidden md:inline lg:hidden">cr</span>
        <span class="hidden sm:inline md:hidden lg:inline">credits</span>
      </span>
      <span class="sr-only">{isTest && 'test '}credits available</span>
    </a>
  );
}

const ITEM = 'flex w-full items-center gap-3 px-4 py-2.5 text-left hover:bg-well';

function useMenu() {
  const { path } = useLocation();
  const menu = useRef<HTMLDetailsElement>(null);
  const close = () => {
    if (menu.current) menu.current.open = false;
  };
  useEffect(close, [path]);
  useListener(['pointerdown'], ({ target }) => {
    if (!menu.current?.contains(target as Node)) close();
  });
  return { menu, close };
}

export function AccountMenu({ me, isOperatorConsole }: { me: Me; isOperatorConsole: boolean }) {
  const { signOut } = useSession();
  const { menu, close } = useMenu();
  const leave = () => signOut().catch(toastFailure);
  const links: Destination[] = [
    ...DESTINATIONS.filter((page) => isOperatorConsole || !isInNarrowNavigation(page)),
    { href: '/settings', title: 'Settings', icon: 'person' },
    { href: '/pricing', title: 'Prices', icon: 'coins' },
    { href: '/status', title: 'Status', icon: 'chart' },
    { href: '/docs', title: 'Documentation', icon: 'book' },
  ];
  if (me.is_operator) {
    links.push({ href: '/operator', title: 'Operator’s console', icon: 'operator' });
  }
  return (
    <details
      ref={menu}
      class="relative"
      onKeyDown={(event) => {
        if (event.key !== 'Escape') return;
        close();
        menu.current?.querySelector('summary')?.focus();
      }}
    >
      <summary
        aria-label="Account"
        class="inline-grid size-9 list-none place-items-center text-dim hover:bg-well hover:text-ink [&::-webkit-details-marker]:hidden"
      >
        <Icon name="person" />
      </summary>
      <div class="absolute right-0 z-40 mt-2 w-64 border border-edge bg-sheet py-1.5">
        <p class="border-b border-line px-4 pt-1.5 pb-3 text-sm break-all text-dim">{me.email}</p>
        {!isOperatorConsole && (
          <div class="border-b border-line px-4 py-2.5">
            <ModeSwitch key={me.mode} mode={me.mode} />
          </div>
        )}
        {links.map(({ href, title, icon }) => (
          <a key={href} href={href} class={ITEM}>
            <Icon name={icon} />
            {title}
          </a>
        ))}
        <button type="button" class={`${ITEM} border-t border-line`} onClick={() => void leave()}>
          <Icon name="arrow" />
          Sign out
        </button>
      </div>
    </details>
  );
}
