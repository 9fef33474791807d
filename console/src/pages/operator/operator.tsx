import { Page } from '../../ui/page.tsx';
import { Skeleton } from '../../ui/states.tsx';

export default function OperatorPage() {
  return (
    <Page title="Operator">
      <Skeleton lines={5} />
    </Page>
  );
}
