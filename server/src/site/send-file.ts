import type { Readable } from 'node:stream';
import type { FastifyReply } from 'fastify';
import type { Database } from '../database/database.ts';
import type { ApiError } from '../kernel/errors.ts';
import { attachment } from '../kernel/file-names.ts';
import type { Log } from '../kernel/log.ts';
import { storageUnavailable } from '../requests/errors.ts';
import { ObjectMissing, type Storage } from '../storage/storage.ts';
import { reportIfVanished } from '../storage/vanished.ts';

export interface FileDeps {
  db: Database;
  log: Log;
  storage: Storage;
}

/** Opens a stored object. @throws ApiError `service_busy`, or that of `gone` if it has vanished */
export function openStored({ storage, ...deps }: FileDeps, id: string, gone: () => ApiError) {
  return storage.open(id).catch(async (cause: unknown) => {
    if (!(cause instanceof ObjectMissing)) throw storageUnavailable('read', cause);
    await reportIfVanished(deps, id);
    throw gone();
  });
}

/** Sends a stored object as a download. */
export async function sendStored(
  deps: FileDeps,
  reply: FastifyReply,
  { id, ...file }: { id: string; media_type: string; size_bytes: number; fileName: string },
  gone: () => ApiError,
): Promise<void> {
  const bytes = await openStored(deps, id, gone);
  reply.headers({
    'content-type': file.media_type,
    'content-length': file.size_bytes,
    'content-disposition': attachment(file.fileName),
  });
  reply.send(bytes);
}

/** Sends a file of comma-separated values. */
export function sendCsv(reply: FastifyReply, fileName: string, body: string | Readable): void {
  reply.headers({
    'content-type': 'text/csv; charset=utf-8',
    'content-disposition': attachment(fileName),
  });
  reply.send(body);
}
