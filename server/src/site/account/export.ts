import { Readable } from 'node:stream';
import { askForExport, endExport, readExport, takeExport } from '../../accounts/exports.ts';
import type { Database } from '../../database/database.ts';
import { ApiError } from '../../kernel/errors.ts';
import { type ScratchDirectory, writeStream } from '../../kernel/scratch-directory.ts';
import { csvLine } from '../../kernel/text/csv.ts';
import { type ZipEntry, ZipTooLarge, zip } from '../../kernel/zip.ts';
import type { BalanceKind } from '../../ledger/transfer.ts';
import { mailOwner } from '../../mail/outbox.ts';
import type { FreeSpace } from '../../storage/free-space.ts';
import { markReadyWith, readObject, storeFile } from '../../storage/objects.ts';
import type { Storage } from '../../storage/storage.ts';
import { type ExportedTask, exportedTasks } from '../../tasks/account-tasks.ts';
import { statementCsv } from '../billing/statement.ts';
import { type PageDeps, siteRoute } from '../route.ts';
import { type FileDeps, sendStored } from '../send-file.ts';

const getExport = siteRoute('GET /console/api/export', {
  handle: async ({ db }: PageDeps, { session: { accountId } }) => {
    const known = await readExport(db, accountId);
    if (!known) return { state: 'none' as const, asked_at: null };
    const { asked_at, object_id: id, is_being_made: isBeingMade } = known;
    if (isBeingMade) return { state: 'being_made' as const, asked_at };
    const isThere = id !== null && (await readObject(db, id, ['export']))?.state === 'ready';
    return { state: isThere ? ('ready' as const) : ('ended' as const), asked_at };
  },
});

/** Limited because each reads all that the account has. */
const EXPORTS = { max: 5, seconds: 86_400 };

const postExport = siteRoute('POST /console/api/export', {
  rate: EXPORTS,
  handle: async ({ db }: PageDeps, { session: { accountId } }) => {
    await db.transaction((tx) => askForExport(tx, accountId));
    return {};
  },
});

/** Limited because each sends a file, which the storage may bill. */
const DOWNLOADS = { max: 10, seconds: 60 };

const getExportFile = siteRoute('GET /console/api/export/file', {
  rate: DOWNLOADS,
  handle: async (deps: FileDeps, { reply, session: { accountId } }) => {
    const { object_id: id = null, asked_at: at } = (await readExport(deps.db, accountId)) ?? {};
    const object = id === null ? undefined : await readObject(deps.db, id, ['export']);
    if (object?.state !== 'ready') throw noExport();
    const fileName = `account-${at?.toISOString().slice(0, 10)}.zip`;
    await sendStored(deps, reply, { ...object, fileName }, noExport);
  },
});

function noExport(): ApiError {
  return new ApiError('not_found', 'There is no export of your account, or it has expired.');
}

export const EXPORT_ROUTES = [getExport, postExport, getExportFile];

const KEPT_DAYS = 1;

interface ExportDeps {
  db: Database;
  storage: Storage;
  scratch: ScratchDirectory;
  space: Pick<FreeSpace, 'whileFree'>;
  publicUrl(): string;
}

/** Makes the exports that are due. Several workers may do so at once. */
export async function makeExports(deps: ExportDeps): Promise<void> {
  for (;;) {
    const accountId = await takeExport(deps.db);
    if (accountId === undefined) return;
    await makeExport(deps, accountId).catch((error) => {
      if (!(error instanceof ZipTooLarge)) throw error;
      return giveUp(deps.db, accountId);
    });
  }
}

function giveUp(db: Database, accountId: string): Promise<void> {
  return db.transaction(async (tx) => {
    if (!(await endExport(tx, accountId, null))) return;
    await mailOwner(tx, { accountId, subject: 'Your data does not fit one file', text: TOO_LARGE });
  });
}

const TOO_LARGE = `The file with your requests, your list of videos and your statement would be
larger than 4 GB, which is more than this service can make. Ask its operator for your data.
`;

async function makeExport({ publicUrl, ...deps }: ExportDeps, accountId: string): Promise<void> {
  const { db, scratch, space } = deps;
  const id = await scratch.withFiles(async (newPath) => {
    const filePath = newPath('export');
    await writeStream(space.whileFree('upload', zip(entriesOf(db, accountId))), filePath);
    return storeFile(deps, {
      filePath,
      ownerId: accountId,
      role: 'export',
      mediaType: 'application/zip',
    });
  });
  await markReadyWith(db, { ids: [id], retentionDays: KEPT_DAYS }, async (tx) => {
    if (!(await endExport(tx, accountId, id))) throw new Error('nobody waits for this export');
    await mailOwner(tx, { accountId, subject: 'Your data is ready', text: mailText(publicUrl()) });
  });
}

function mailText(url: string): string {
  return `The file with your requests, your list of videos and your statement is ready for a day.

Download it here, signed in: ${url}/settings

If you did not ask for it, somebody else is signed in to your account: end the sessions that you do
not know, on the same page.
`;
}

const allTimeOf = (kinds: BalanceKind[]) => ({ kinds, from: undefined, until: undefined });

function entriesOf(db: Database, accountId: string): ZipEntry[] {
  const at = new Date();
  const file = (name: string, texts: () => AsyncGenerator<string>) => ({
    name,
    at,
    open: async () => Readable.from(texts(), { objectMode: false }),
  });
  return [
    file('requests.jsonl', () => requests(db, accountId)),
    file('videos.csv', () => videos(db, accountId)),
    file('statement.csv', () => statementCsv(db, accountId, allTimeOf(['paid', 'promotional']))),
    file('test-statement.csv', () => statementCsv(db, accountId, allTimeOf(['test']))),
  ];
}

async function* requests(db: Database, accountId: string): AsyncGenerator<string> {
  for await (const { id, surface, created_at, request } of exportedTasks(db, accountId)) {
    yield `${JSON.stringify({ id, surface, created_at, request })}\n`;
  }
}

const COLUMNS: Record<string, (task: ExportedTask) => unknown> = {
  id: ({ id }) => id,
  created_at: ({ created_at: at }) => at,
  surface: ({ surface }) => surface,
  state: ({ phase }) => phase,
  error_code: ({ error_code: code }) => code,
  name: ({ name }) => name,
  tags: ({ tags }) => tags.join(', '),
  starred: ({ is_starred: isStarred }) => isStarred,
  model: ({ request }) => request.model,
  prompt: ({ request }) => request.prompt,
  seed: ({ seed }) => seed,
  credits: ({ credits }) => credits,
};

async function* videos(db: Database, accountId: string): AsyncGenerator<string> {
  yield csvLine(Object.keys(COLUMNS));
  for await (const task of exportedTasks(db, accountId)) {
    yield csvLine(Object.values(COLUMNS).map((cellOf) => cellOf(task)));
  }
}
