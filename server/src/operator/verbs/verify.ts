import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { allCertificates } from '../../credentials/certificates.ts';
import { readCredentials } from '../../credentials/read-credentials.ts';
import type { Database } from '../../database/database.ts';
import { UsageError } from '../../kernel/errors.ts';
import { hashFramesAt } from '../../media/measure.ts';
import { findSimilar } from '../../storage/fingerprints.ts';
import { findOutput } from '../../storage/outputs.ts';
import { text } from '../verb/fields.ts';
import { verb } from '../verb/verb.ts';

export const VERIFY = {
  verify: verb({
    summary:
      'Tell whether a video came from this service, by its digest, then by its Content ' +
      'Credentials, else which one looks similar; exit 1 if not',
    fields: { file: text('A video file.', { word: 'FILE', max: 4096 }) },
    positional: ['file'],
    notOnConsole: 'it reads a file of this machine',
    async run({ db }, { file }) {
      const sha256 = await digestOf(file);
      const [stored, certificates] = await Promise.all([
        findOutput(db, sha256),
        allCertificates(db),
      ]);
      const chains = certificates.map(({ chain }) => chain);
      const credentials = await readCredentials(file, chains).catch(({ message }: Error) => {
        return { is_ours: false, unreadable: message };
      });
      const ok = stored !== undefined || credentials?.is_ours === true;
      const similar = ok ? null : await similarTo(db, file);
      return { ok, sha256, stored: stored ?? null, credentials, similar };
    },
  }),
};

async function similarTo(db: Database, file: string) {
  const measured = await hashFramesAt(file);
  if (measured.kind !== 'measured') return { unreadable: measured.kind };
  return (await findSimilar(db, measured.hashes ?? [])) ?? null;
}

async function digestOf(file: string): Promise<string> {
  const hash = createHash('sha256');
  try {
    for await (const part of createReadStream(file)) hash.update(part);
  } catch (error) {
    throw new UsageError(
      `${file} can't be read: ${error instanceof Error ? error.message : error}`,
    );
  }
  return hash.digest('hex');
}
