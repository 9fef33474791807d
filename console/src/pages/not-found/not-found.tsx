import { useSession } from '../../session.tsx';
import { ButtonLink } from '../../ui/button.tsx';
import { Page } from '../../ui/page.tsx';

const WAYS = {
  in: [
    { href: '/playground', title: 'Playground' },
    { href: '/videos', title: 'Videos' },
    { href: '/docs', title: 'Documentation' },
  ],
  out: [
    { href: '/sign-in', title: 'Sign in' },
    { href: '/pricing', title: 'Prices' },
    { href: '/docs', title: 'Documentation' },
  ],
};

export function NotFound({
  title = 'Page not found',
  lead = 'The address is wrong, or the page does not exist any more.',
  href,
  action,
}: {
  title?: string;
  lead?: string;
  href?: string;
  action?: string;
}) {
  const { state } = useSession();
  const others = href === undefined ? WAYS[state.kind === 'in' ? 'in' : 'out'] : [];
  return (
    <Page title={title} lead={lead}>
      <div class="flex flex-wrap gap-2.5">
        <ButtonLink href={href ?? '/'} look="primary">
          {action ?? 'Go to the start page'}
        </ButtonLink>
        {others.map((way) => (
          <ButtonLink key={way.href} href={way.href}>
            {way.title}
          </ButtonLink>
        ))}
      </div>
    </Page>
  );
}
