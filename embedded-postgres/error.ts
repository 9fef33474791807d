/** A problem that an operator can fix; the message is one line and says what to do. */
export class EmbeddedPostgresError extends Error {
  override name = 'EmbeddedPostgresError';
}

/** Such as ENOENT, or a SQLSTATE. */
export function codeOf(error: unknown): unknown {
  return error instanceof Error && 'code' in error ? error.code : undefined;
}

/** Turns an operating system or SQLite lock file error into an {@link EmbeddedPostgresError}. */
export function forOperators(error: unknown, dataDir: string): unknown {
  const isOfFiles = error instanceof Error && ('syscall' in error || 'errcode' in error);
  if (!isOfFiles) return error;
  return new EmbeddedPostgresError(
    `the embedded database in ${dataDir} can't be used: ${error.message}. ` +
      'Set DATA_DIR to a folder that this user can write to, or set DATABASE_URL',
  );
}
