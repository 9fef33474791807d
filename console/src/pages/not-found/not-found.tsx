import { ButtonLink } from '../../ui/button.tsx';
import { Page } from '../../ui/page.tsx';

export function NotFound() {
  return (
    <Page title="There is no such page" lead="The address is wrong, or what was here is gone.">
      <div>
        <ButtonLink href="/" look="primary">
          To the first page
        </ButtonLink>
      </div>
    </Page>
  );
}
