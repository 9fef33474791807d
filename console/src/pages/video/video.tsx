import { Page } from '../../ui/page.tsx';
import { Skeleton } from '../../ui/states.tsx';

export default function VideoPage() {
  return (
    <Page title="Video">
      <Skeleton lines={5} />
    </Page>
  );
}
