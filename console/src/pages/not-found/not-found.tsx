import { ButtonLink } from '../../ui/button.tsx';
import { Page } from '../../ui/page.tsx';

/** Says that an address leads to nothing, and where to go instead. */
export function NotFound({
  title = 'Page not found',
  lead = 'The address is wrong, or the page does not exist any more.',
  href = '/',
  action = 'Go to the start page',
}: {
  title?: string;
  lead?: string;
  href?: string;
  action?: string;
}) {
  return (
    <Page title={title} lead={lead}>
      <div>
        <ButtonLink href={href} look="primary">
          {action}
        </ButtonLink>
      </div>
    </Page>
  );
}
