import { Page } from '../../ui/page.tsx';
import { Skeleton } from '../../ui/states.tsx';

export default function CreditsPage() {
  return (
    <Page title="Credits">
      <Skeleton lines={5} />
    </Page>
  );
}
