import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { rm } from 'node:fs/promises';
import path from 'node:path';
import { type Database, statement, whether } from '../database/database.ts';
import { writeStream } from '../kernel/scratch-directory.ts';
import { forEachObject, PAGE } from './objects.ts';
import { ObjectMissing, type Storage } from './storage.ts';

export interface CopyResult {
  /** Whether every file that should be there is in the new storage. */
  ok: boolean;
  copied: number;
  copied_bytes: number;
  already_there: number;
  /** Files deleted from the new storage because the service deleted them within the last week. */
  deleted: number;
  /** Objects whose file is in neither storage. */
  missing: string[];
}

export interface CopyDeps {
  db: Database;
  from: Storage;
  to: Storage;
  /** A folder for temporary files, from which `to` can take them. */
  scratch: string;
  progressed?(result: CopyResult): void;
}

interface Row {
  id: string;
  state: 'writing' | 'ready' | 'deleting' | 'deleted';
  size_bytes: number;
}

/** SQL: whether the file is kept. Evidence is kept although it is `deleting`. */
const IS_WANTED = `(state in ('writing', 'ready')
     or (state = 'deleting' and evidence_until > clock_now()))`;

const LIST = statement(
  'copy_list',
  `select id, state, size_bytes::float8 as size_bytes from stored_objects
   where id > $1 and (${IS_WANTED}
     or (state = 'deleted' and deleted_at > clock_now() - interval '7 days'))
   order by id limit ${PAGE}`,
);

const isWanted = whether<[id: string]>(
  'copy_is_wanted',
  `select 1 from stored_objects where id = $1 and ${IS_WANTED}`,
);

/**
 * Copies the files of all objects, comparing each copy by its SHA-256. May be interrupted and rerun
 * at any time, beside a running service: a file in `to` at its full size is skipped, since a put is
 * atomic and ids are never reused.
 * @throws Error when a storage fails or a copy differs; run it again then
 */
export async function copyObjects(deps: CopyDeps): Promise<CopyResult> {
  const result: CopyResult = {
    ok: true,
    copied: 0,
    copied_bytes: 0,
    already_there: 0,
    deleted: 0,
    missing: [],
  };
  let done = 0;
  await forEachObject<Row>(deps.db, LIST, async (row) => {
    await copyRow(deps, row, result);
    done += 1;
    if (done % PAGE === 0) deps.progressed?.(result);
  });
  deps.progressed?.(result);
  result.ok = result.missing.length === 0;
  return result;
}

async function copyRow(deps: CopyDeps, row: Row, result: CopyResult): Promise<void> {
  const { to } = deps;
  const size = await to.sizeOf(row.id);
  if (row.state === 'deleted') {
    if (size === undefined) return;
    await to.delete(row.id);
    result.deleted += 1;
  } else if (size === row.size_bytes) {
    result.already_there += 1;
  } else if (await copyFile(deps, row)) {
    result.copied += 1;
    result.copied_bytes += row.size_bytes;
  } else if (row.state !== 'writing' && (await isWanted(deps.db, row.id))) {
    result.missing.push(row.id);
  }
}

/** @returns false when there is no file to copy, or it is no longer wanted */
async function copyFile(deps: CopyDeps, row: Row): Promise<boolean> {
  const { from, to, scratch } = deps;
  const filePath = path.join(scratch, row.id);
  try {
    await writeStream(await from.open(row.id), filePath);
    const sha256 = await digestOf(createReadStream(filePath));
    await to.put(row.id, filePath);
    if ((await digestOf(await to.open(row.id))) !== sha256) {
      await to.delete(row.id);
      throw new Error(`${row.id} was copied with other bytes; the copy was deleted`);
    }
  } catch (error) {
    if (error instanceof ObjectMissing) return false;
    throw error;
  } finally {
    await rm(filePath, { force: true });
  }
  if (await isWanted(deps.db, row.id)) return true;
  await to.delete(row.id); // it was deleted from the service meanwhile
  return false;
}

async function digestOf(bytes: AsyncIterable<Uint8Array>): Promise<string> {
  const hash = createHash('sha256');
  for await (const part of bytes) hash.update(part);
  return hash.digest('hex');
}
