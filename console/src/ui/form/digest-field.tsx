import { FieldFrame } from './field.tsx';
import { useSending } from './sending.tsx';

/** The browser reads the whole file into memory. */
const MAX_BYTES = 1024 ** 3;

/** The SHA-256 of a file in hex, computed in the browser. */
async function digestOf(file: File): Promise<string> {
  if (file.size > MAX_BYTES) throw new Error('The file is larger than 1 GB.');
  if (!crypto.subtle) throw new Error('Your browser computes digests on https pages only.');
  const digest = await crypto.subtle.digest('SHA-256', await file.arrayBuffer());
  return Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, '0')).join('');
}

interface Props {
  label: string;
  hint?: string;
  onDigest: (sha256: string, file: File) => unknown;
}

/** A field for a video file that reports only its digest: the file stays on the reader's computer. */
export function DigestField({ label, hint, onDigest }: Props) {
  const { isBusy, failure, send } = useSending(async (file: File) =>
    onDigest(await digestOf(file), file),
  );
  return (
    <FieldFrame label={label} hint={hint} beside={isBusy && 'Reading it'} error={failure?.message}>
      {(control) => (
        <input
          {...control}
          type="file"
          accept="video/*"
          class="w-full min-w-0 file:mr-4 file:cursor-pointer file:rounded-cut file:border file:border-edge file:bg-paper file:px-4 file:py-2 file:font-medium hover:file:border-ink"
          onChange={({ currentTarget: { files } }) => files?.[0] && void send(files[0])}
        />
      )}
    </FieldFrame>
  );
}
