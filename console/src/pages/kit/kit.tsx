import { Page } from '../../ui/page.tsx';
import { Skeleton } from '../../ui/states.tsx';

export default function KitPage() {
  return (
    <Page title="Kit">
      <Skeleton lines={5} />
    </Page>
  );
}
