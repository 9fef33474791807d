import { api } from '../../api.ts';
import { useEvery, useLoad } from '../../load.ts';
import { ButtonLink, Working } from '../../ui/button.tsx';
import { Card } from '../../ui/card.tsx';
import { SendButton } from '../../ui/form/sending.tsx';
import { RelativeTime } from '../../ui/format.tsx';
import { Load } from '../../ui/states.tsx';

const POLL_MS = 4000;

/** All data about an account, as one file. */
export function OwnData() {
  const loaded = useLoad('/console/api/export');
  const isBeingMade = loaded.data?.state === 'being_made';
  useEvery(isBeingMade ? POLL_MS : undefined, loaded.reload);
  const ask = async () => {
    await api('POST /console/api/export');
    await loaded.reload();
  };
  return (
    <Card
      title="Your data"
      note="All requests, the list of your videos and your statement as a ZIP file. You get a mail when it is ready; then it is kept for a day. Videos are downloaded on their page."
    >
      <Load from={loaded}>
        {({ state, asked_at: at }) => (
          <div class="flex flex-wrap items-center gap-4">
            {state === 'being_made' ? (
              <p role="status" class="flex items-center gap-3">
                <Working />
                It is being made
              </p>
            ) : (
              <SendButton onSend={ask}>Make the file</SendButton>
            )}
            {state === 'ready' && (
              <ButtonLink look="primary" icon="download" href="/console/api/export/file" download>
                Download
              </ButtonLink>
            )}
            {at !== null && (
              <p class="text-sm text-dim">
                Asked for <RelativeTime at={at} />
                {state === 'ended' && '; no file is available'}
              </p>
            )}
          </div>
        )}
      </Load>
    </Card>
  );
}
