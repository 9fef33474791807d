import { Page } from '../../ui/page.tsx';
import { Skeleton } from '../../ui/states.tsx';

export default function VideosPage() {
  return (
    <Page title="Videos">
      <Skeleton lines={5} />
    </Page>
  );
}
