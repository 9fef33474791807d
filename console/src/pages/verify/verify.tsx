import { useState } from 'preact/hooks';
import { api } from '../../api.ts';
import type { Result } from '../../site-api.ts';
import { Button, Link } from '../../ui/button.tsx';
import { Card } from '../../ui/card.tsx';
import { DigestField } from '../../ui/form/digest-field.tsx';
import { Problem } from '../../ui/form/field.tsx';
import { useSending } from '../../ui/form/sending.tsx';
import { DateTime } from '../../ui/format.tsx';
import { Page } from '../../ui/page.tsx';

type Verified = Result<'GET /console/api/verify'> & { file: File };

export default function VerifyPage() {
  const [verified, setVerified] = useState<Verified>();
  const verify = async (sha256: string, file: File) => {
    setVerified(undefined);
    setVerified({ ...(await api('GET /console/api/verify', { query: { sha256 } })), file });
  };
  return (
    <Page
      title="Verify a video"
      lead="Find out whether a file is a video of this service. The file stays on your computer: only its SHA-256 digest is sent."
    >
      <Card>
        <DigestField label="The file" onDigest={verify} />
        <div role="status" class="mt-5">
          {verified && <Answer {...verified} />}
        </div>
      </Card>
    </Page>
  );
}

function Answer({ stored_at: at, file }: Verified) {
  if (at === null) return <Unknown file={file} />;
  return (
    <p>
      This service made the file, unchanged, on <DateTime at={at} />.
    </p>
  );
}

/** Sends the file only if the reader asks for it. */
function Unknown({ file }: { file: File }) {
  const [compared, setCompared] = useState<Result<'POST /console/api/verify'>>();
  const { isBusy, failure, send } = useSending(async () => {
    const body = new Blob([file], { type: 'video/mp4' }); // browsers don't know all types
    setCompared(await api('POST /console/api/verify', { body }));
  });
  if (compared) return <Compared {...compared} />;
  return (
    <div class="grid gap-4">
      <p class="max-w-[75ch]">
        No video of this service has exactly these bytes. It may still be a changed or a converted
        copy, or an old one. Its{' '}
        <Link href="https://contentcredentials.org/verify">Content Credentials</Link> may tell more.
      </p>
      <p class="max-w-[75ch]">
        To look for similar videos, send us the file: at most 100 MB and half a minute. We compare
        some of its frames, and don’t keep it.
      </p>
      <div>
        <Button busy={isBusy} onClick={send}>
          {isBusy ? 'Comparing' : 'Send the file'}
        </Button>
      </div>
      {failure && <Problem>{failure.message}</Problem>}
    </div>
  );
}

function Compared({ similar_at: at }: Result<'POST /console/api/verify'>) {
  if (at === null) {
    return (
      <p class="max-w-[75ch]">
        No video of this service looks similar. That is no proof: only some frames are compared, and
        not those of old videos.
      </p>
    );
  }
  return (
    <p class="max-w-[75ch]">
      It looks like a video that this service made on <DateTime at={at} />. That is no proof:
      another video may begin with the same picture.
    </p>
  );
}
