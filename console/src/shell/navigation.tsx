import { useLocation } from 'preact-iso';
import { Icon, type IconName } from '../ui/icon.tsx';

export interface Destination {
  href: string;
  title: string;
  icon: IconName;
}

/** The pages of the console, in the order of the navigation. */
export const DESTINATIONS: Destination[] = [
  { href: '/playground', title: 'Playground', icon: 'play' },
  { href: '/videos', title: 'Videos', icon: 'frames' },
  { href: '/usage', title: 'Usage', icon: 'chart' },
  { href: '/keys', title: 'API keys', icon: 'key' },
  { href: '/webhooks', title: 'Webhooks', icon: 'nodes' },
  { href: '/credits', title: 'Credits', icon: 'coins' },
];

/** Windows without room for all have the others in the menu of the account. */
export function isOnPhone({ href }: Pick<Destination, 'href'>): boolean {
  return href !== '/webhooks';
}

function useCurrent(): (href: string) => 'page' | undefined {
  const { path } = useLocation();
  return (href) => (path === href || path.startsWith(`${href}/`) ? 'page' : undefined);
}

/** The row of pages at the top, on wide windows. The current one has the playhead. */
export function TopNavigation({ items }: { items: Pick<Destination, 'href' | 'title'>[] }) {
  const current = useCurrent();
  return (
    <nav aria-label="Main" class="hidden h-full md:block">
      <ul class="flex h-full gap-5 lg:gap-7">
        {items.map(({ href, title }) => (
          <li key={href} class={`h-full ${isOnPhone({ href }) ? '' : 'hidden lg:block'}`}>
            <a
              href={href}
              aria-current={current(href)}
              class="playhead relative flex h-full items-center text-dim hover:text-ink aria-[current=page]:text-ink"
            >
              {title}
            </a>
          </li>
        ))}
      </ul>
    </nav>
  );
}

/** The most used ones at the bottom of a phone, where more have no room. */
export function PhoneNavigation() {
  const current = useCurrent();
  return (
    <nav
      aria-label="Main"
      class="sticky bottom-0 z-30 border-t border-line bg-sheet pb-[env(safe-area-inset-bottom)] md:hidden"
    >
      <ul class="grid grid-cols-5">
        {DESTINATIONS.filter(isOnPhone).map(({ href, title, icon }) => (
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
