import { Page } from '../../ui/page.tsx';
import { Skeleton } from '../../ui/states.tsx';

export default function PricingPage() {
  return (
    <Page title="Prices">
      <Skeleton lines={5} />
    </Page>
  );
}
