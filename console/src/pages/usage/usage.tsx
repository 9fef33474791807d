import { Page } from '../../ui/page.tsx';
import { Skeleton } from '../../ui/states.tsx';

export default function UsagePage() {
  return (
    <Page title="Usage">
      <Skeleton lines={5} />
    </Page>
  );
}
