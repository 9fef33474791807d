import { ButtonLink } from '../../ui/button.tsx';
import { Page } from '../../ui/page.tsx';

export function NotFound() {
  return (
    <Page title="Page not found" lead="The address is wrong, or the page does not exist any more.">
      <div>
        <ButtonLink href="/" look="primary">
          Go to the start page
        </ButtonLink>
      </div>
    </Page>
  );
}
