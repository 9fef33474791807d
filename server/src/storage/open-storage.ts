import type { Log } from '../kernel/log.ts';
import { diskStorage } from './disk.ts';
import { originOf } from './s3/presign.ts';
import type { S3Settings } from './s3/settings.ts';
import type { Storage } from './storage.ts';

/** Where objects are stored: in a local folder or in an S3 bucket. */
export type StorageSettings = { kind: 'disk'; folder: string } | { kind: 's3'; s3: S3Settings };

/** @throws UsageError that says what is missing, when it can't be used */
export async function openStorage(settings: StorageSettings, log: Log): Promise<Storage> {
  if (settings.kind === 'disk') return diskStorage(settings.folder);
  const { bucket } = settings.s3;
  // The AWS SDK is a tenth of what a start loads.
  const { openS3Storage } = await import('./s3/s3.ts');
  return openS3Storage({
    settings: settings.s3,
    retried: (object, error) =>
      log.warn({ object, bucket, err: String(error) }, 'putting an object failed; it is repeated'),
    replaces: () =>
      log.warn({ bucket }, 'the store can not refuse to replace an object (If-None-Match)'),
  });
}

/** Scheme and host of the storage's own links; undefined where it has none. */
export function linkOrigin(settings: StorageSettings): string | undefined {
  return settings.kind === 's3' ? originOf(settings.s3) : undefined;
}
