import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { UsageError } from '../kernel/errors.ts';
import type { ScratchDirectory } from '../kernel/scratch-directory.ts';
import type { SigningCertificate } from './certificate.ts';
import { readCredentials } from './read-credentials.ts';
import { createSigner } from './signer.ts';

/** An mp4 of two boxes, without a track. */
const SAMPLE = Buffer.from('\0\0\0\x14ftypisom\0\0\0\0isom\0\0\0\x08mdat', 'latin1');

/**
 * Problems that are no fault of the certificate: readers choose whom they trust, and the sample's
 * signature is empty, since a signing service may be down.
 */
const EXPECTED = ['signingCredential.untrusted', 'claimSignature.mismatch'];

/**
 * Reads a sample with the operator's certificate, as the world will.
 * @throws UsageError when readers will refuse whatever it signs
 */
export function requireFit(
  given: SigningCertificate,
  scratch: ScratchDirectory,
  now: number,
): Promise<void> {
  const certificate = { ...given, sign: async () => Buffer.alloc(64) };
  return scratch.withFolder(async (folder) => {
    const sample = path.join(folder, 'sample');
    const signedPath = path.join(folder, 'signed');
    await writeFile(sample, SAMPLE);
    const at = new Date(now).toISOString();
    const origin = { source: 'algorithmicMedia', model: 'sample', at, version: '0' } as const;
    const file = { path: sample, signedPath, source: '' };
    const signer = createSigner({ scratch, certificate: () => certificate });
    const signing = await signer.sign(file, { ...origin, promptHash: null });
    await signer.close();
    const problems = signing.kind === 'signed' ? await problemsOf(signedPath) : [signing.why];
    if (problems.length === 0) return;
    throw new UsageError(
      `CONTENT_CREDENTIALS_CERT: readers refuse what it signs (${problems.join(', ')}): it needs ` +
        'the key usage digitalSignature, the extended key usage emailProtection, and an authority ' +
        'key identifier; see docs/operators/content-credentials.md',
    );
  });
}

async function problemsOf(signed: string): Promise<string[]> {
  const { problems = [] } = (await readCredentials(signed, [])) ?? {};
  return problems.filter((code) => !EXPECTED.includes(code));
}
