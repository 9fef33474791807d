import { useState } from 'preact/hooks';
import { api } from '../../api.ts';
import type { Result } from '../../site-api.ts';
import { Link } from '../../ui/button.tsx';
import { Card } from '../../ui/card.tsx';
import { DigestField } from '../../ui/form/digest-field.tsx';
import { DateTime } from '../../ui/format.tsx';
import { Page } from '../../ui/page.tsx';

export default function VerifyPage() {
  const [answer, setAnswer] = useState<Result<'GET /console/api/verify'>>();
  const verify = async (sha256: string) => {
    setAnswer(undefined);
    setAnswer(await api('GET /console/api/verify', { query: { sha256 } }));
  };
  return (
    <Page
      title="Verify a video"
      lead="Find out whether a file is a video of this service. It stays on your computer: only a digest of it, the SHA-256, is sent."
    >
      <Card>
        <DigestField label="The file" onDigest={verify} />
        <div role="status" class="mt-5">
          {answer && <Answer {...answer} />}
        </div>
      </Card>
    </Page>
  );
}

function Answer({ stored_at: at }: Result<'GET /console/api/verify'>) {
  if (at !== null) {
    return (
      <p>
        This service made the file, unchanged, on <DateTime at={at} />.
      </p>
    );
  }
  return (
    <p class="max-w-[75ch]">
      No video of this service has exactly these bytes. It may still be a changed or a converted
      copy, or an old one. Its{' '}
      <Link href="https://contentcredentials.org/verify">Content Credentials</Link> may tell more.
    </p>
  );
}
