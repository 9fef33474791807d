import { Page } from '../../ui/page.tsx';
import { Skeleton } from '../../ui/states.tsx';

export default function KeysPage() {
  return (
    <Page title="API keys">
      <Skeleton lines={5} />
    </Page>
  );
}
