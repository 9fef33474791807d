import { Page } from '../../ui/page.tsx';
import { Skeleton } from '../../ui/states.tsx';

export default function PlaygroundPage() {
  return (
    <Page title="Playground">
      <Skeleton lines={5} />
    </Page>
  );
}
