import { useState } from 'preact/hooks';
import { api } from '../../api.ts';
import type { Result } from '../../site-api.ts';
import { Link, Working } from '../../ui/button.tsx';
import { Card } from '../../ui/card.tsx';
import { digestOf } from '../../ui/form/digest.ts';
import { FieldFrame, Problem } from '../../ui/form/field.tsx';
import { DateTime } from '../../ui/format.tsx';
import { Page } from '../../ui/page.tsx';

type State =
  | { kind: 'asked' }
  | { kind: 'working' }
  | { kind: 'failed'; why: string }
  | { kind: 'told'; answer: Result<'GET /console/api/verify'> };

export default function VerifyPage() {
  const [state, setState] = useState<State>({ kind: 'asked' });
  const verify = async (file: File | undefined) => {
    if (!file) return;
    setState({ kind: 'working' });
    try {
      const query = { sha256: await digestOf(file) };
      setState({ kind: 'told', answer: await api('GET /console/api/verify', { query }) });
    } catch (error) {
      setState({ kind: 'failed', why: error instanceof Error ? error.message : String(error) });
    }
  };
  return (
    <Page
      title="Verify a video"
      lead="Find out whether a file is a video of this service. It stays on your computer: only a digest of it, the SHA-256, is sent."
    >
      <Card>
        <FieldFrame label="The file">
          {(control) => (
            <input
              {...control}
              type="file"
              accept="video/*"
              class="file:mr-4 file:cursor-pointer file:rounded-cut file:border file:border-edge file:bg-paper file:px-4 file:py-2 file:font-medium hover:file:border-ink"
              onChange={({ currentTarget }) => verify(currentTarget.files?.[0])}
            />
          )}
        </FieldFrame>
        <div role="status" class="mt-5">
          {state.kind === 'working' && <Working />}
          {state.kind === 'told' && <Answer {...state.answer} />}
        </div>
        <Problem>{state.kind === 'failed' && state.why}</Problem>
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
