const CODES = ['ENOSPC', 'EDQUOT'];

/** Whether a file could not be written because its disk is full. */
export function isDiskFull(error: unknown): error is NodeJS.ErrnoException {
  return error instanceof Error && 'code' in error && CODES.includes(String(error.code));
}
