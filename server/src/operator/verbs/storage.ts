import { mkdir, mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Refusal, UsageError } from '../../kernel/errors.ts';
import { namingVariables } from '../../kernel/variables.ts';
import { type CopyResult, copyObjects } from '../../storage/copy.ts';
import { openStorage, type StorageSettings } from '../../storage/open-storage.ts';
import { parseS3Url } from '../../storage/s3/settings.ts';
import { text } from '../verb/fields.ts';
import { verb } from '../verb/verb.ts';

const PLACE = 's3://..., or a folder of objects.';

export const STORAGE = {
  'storage copy': verb({
    summary: 'Copy all files to another storage. FROM, TO: s3://..., or a folder of objects',
    fields: {
      from: text(`Where the files are: ${PLACE}`, { word: 'FROM', max: 4000 }),
      to: text(`Where they shall be too: ${PLACE}`, { word: 'TO', max: 4000 }),
    },
    positional: ['from', 'to'],
    notOnConsole: 'it reads folders of this machine',
    async run({ db, log, show }, { from, to }) {
      const source = settingsOf('FROM', from);
      const target = settingsOf('TO', to);
      await requireFolder(source);
      if (path.resolve(from) === path.resolve(to)) {
        throw new Refusal('from', from, 'and {to} are the same');
      }
      const storages = { from: await openStorage(source, log), to: await openStorage(target, log) };
      const scratch = await scratchFor(target);
      try {
        const progressed = show && ((result: CopyResult) => show(progressLine(result)));
        return await copyObjects({ db, ...storages, scratch, ...(progressed && { progressed }) });
      } finally {
        await rm(scratch, { recursive: true, force: true });
      }
    },
  }),
};

function settingsOf(name: string, text: string): StorageSettings {
  if (!text.includes('://')) return { kind: 'disk', folder: path.resolve(text) };
  return { kind: 's3', s3: namingVariables(name, () => parseS3Url(text)) };
}

/** @throws UsageError when the storage is a folder that does not exist */
async function requireFolder(settings: StorageSettings): Promise<void> {
  if (settings.kind !== 'disk') return;
  const facts = await stat(settings.folder).catch(() => undefined);
  if (!facts?.isDirectory()) throw new UsageError(`FROM: there is no folder ${settings.folder}`);
}

/** A new temporary folder. The disk storage takes files only from its own file system. */
async function scratchFor(target: StorageSettings): Promise<string> {
  const parent = target.kind === 'disk' ? path.dirname(target.folder) : tmpdir();
  await mkdir(parent, { recursive: true });
  return mkdtemp(path.join(parent, 'framewright-copy-'));
}

function progressLine({ copied, copied_bytes: bytes, already_there: there }: CopyResult): string {
  const megabytes = (bytes / 1e6).toFixed(1);
  return `copied ${copied} files (${megabytes} MB), ${there} were there before`;
}
