import { Page } from '../../ui/page.tsx';
import { Skeleton } from '../../ui/states.tsx';

export default function SignInPage() {
  return (
    <Page title="Sign in">
      <Skeleton lines={5} />
    </Page>
  );
}
