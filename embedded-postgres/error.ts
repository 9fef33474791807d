/** Something that an operator can fix; the message is one line and says what to do. */
export class EmbeddedPostgresError extends Error {
  override name = 'EmbeddedPostgresError';
}

/** An error of the operating system or of SQLite's lock file, as one that an operator can fix. */
export function forOperators(error: unknown, dataDir: string): unknown {
  const isOfFiles = error instanceof Error && ('syscall' in error || 'errcode' in error);
  if (!isOfFiles) return error;
  return new EmbeddedPostgresError(
    `the embedded database in ${dataDir} can't be used: ${error.message}. ` +
      'Set DATA_DIR to a folder that this user can write to, or set DATABASE_URL',
  );
}
