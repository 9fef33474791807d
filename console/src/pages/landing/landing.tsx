import { Page } from '../../ui/page.tsx';
import { Skeleton } from '../../ui/states.tsx';

export default function LandingPage() {
  return (
    <Page title="Framewright">
      <Skeleton lines={5} />
    </Page>
  );
}
