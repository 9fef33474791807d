import { Button } from '../ui/button.tsx';
import { Page } from '../ui/page.tsx';
import { Skeleton } from '../ui/states.tsx';

/** What stands in the place of a page while the session is read. */
export function Waiting() {
  return (
    <div class="mx-auto w-full max-w-[76rem] px-4 pt-14 pb-20 sm:px-8" aria-busy="true">
      <p class="sr-only">Loading</p>
      <div class="blank mb-10 h-11 w-72 max-w-full" />
      <Skeleton lines={4} />
    </div>
  );
}

/** The file of a page could not be loaded: the connection failed, or there is a newer release. */
export function CouldNotLoad() {
  return (
    <Page
      title="This page could not be loaded"
      lead="The connection failed, or a newer version of the site was just published."
    >
      <div>
        <Button look="primary" icon="refresh" onClick={() => location.reload()}>
          Load it again
        </Button>
      </div>
    </Page>
  );
}
