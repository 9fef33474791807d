import { Page } from '../../ui/page.tsx';
import { Skeleton } from '../../ui/states.tsx';

export default function SettingsPage() {
  return (
    <Page title="Settings">
      <Skeleton lines={5} />
    </Page>
  );
}
