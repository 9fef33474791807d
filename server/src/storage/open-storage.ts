import type { Log } from '../kernel/log.ts';
import { report, secondsSince } from '../telemetry/reports.ts';
import { inSpan } from '../telemetry/tracing.ts';
import { diskStorage } from './disk.ts';
import { originOf } from './s3/presign.ts';
import type { S3Settings } from './s3/settings.ts';
import { ObjectMissing, type Storage } from './storage.ts';

export type StorageSettings = { kind: 'disk'; folder: string } | { kind: 's3'; s3: S3Settings };

/** @throws UsageError that says what is missing, when it can't be used */
export async function openStorage(settings: StorageSettings, log: Log): Promise<Storage> {
  if (settings.kind === 'disk') return diskStorage(settings.folder);
  const { bucket } = settings.s3;
  // Loaded lazily: the AWS SDK is a tenth of the code that a start loads.
  const { openS3Storage } = await import('./s3/s3.ts');
  return openS3Storage({
    settings: settings.s3,
    onRetry: (object, error) =>
      log.warn({ object, bucket, err: String(error) }, 'putting an object failed; it is repeated'),
    onMayReplace: () =>
      log.warn({ bucket }, 'the store ignores If-None-Match, so a put may replace an object'),
  });
}

/** Scheme and host of the storage's own links; undefined where it has none. */
export function linkOrigin(settings: StorageSettings): string | undefined {
  return settings.kind === 's3' ? originOf(settings.s3) : undefined;
}

/** Reports each operation to the metrics and the trace; `open` without its bytes. */
export function instrumentedStorage(storage: Storage): Storage {
  const observe = async <Result>(operation: string, work: () => Promise<Result>) => {
    const startedAt = performance.now();
    let outcome: 'done' | 'missing' | 'error' = 'error';
    try {
      const result = await inSpan({ name: `storage ${operation}` }, work);
      outcome = 'done';
      return result;
    } catch (error) {
      if (error instanceof ObjectMissing) outcome = 'missing';
      throw error;
    } finally {
      report('storage', { operation, outcome, seconds: secondsSince(startedAt) });
    }
  };
  return {
    ...storage,
    put: (...given) => observe('put', () => storage.put(...given)),
    open: (...given) => observe('open', () => storage.open(...given)),
    delete: (objectId) => observe('delete', () => storage.delete(objectId)),
  };
}
