import { useSession } from '../../session.tsx';
import { ButtonLink } from '../../ui/button.tsx';
import { Page } from '../../ui/page.tsx';

const WAYS = {
  in: { '/playground': 'Playground', '/videos': 'Videos', '/docs': 'Documentation' },
  out: { '/sign-in': 'Sign in', '/pricing': 'Prices', '/docs': 'Documentation' },
};

interface NotFoundProps {
  title?: string;
  lead?: string;
  href?: string;
  action?: string;
}

export function NotFound({ title = 'Page not found', href, action, ...props }: NotFoundProps) {
  const { lead = 'The address is wrong, or the page does not exist any more.' } = props;
  const { state } = useSession();
  const ways: Record<string, string> = state.kind === 'in' ? WAYS.in : WAYS.out;
  const others = href === undefined ? Object.entries(ways) : [];
  return (
    <Page title={title} lead={lead}>
      <div class="flex flex-wrap gap-2.5">
        <ButtonLink href={href ?? '/'} look="primary">
          {action ?? 'Go to the start page'}
        </ButtonLink>
        {others.map(([path, name]) => (
          <ButtonLink key={path} href={path}>
            {name}
          </ButtonLink>
        ))}
      </div>
    </Page>
  );
}
