const MEGABYTE = 2 ** 20;

/** The largest upload. */
export const MAX_UPLOAD_BYTES = 100 * MEGABYTE;

/** How long an upload may take: the largest one at one megabit per second. */
export const UPLOAD_SECONDS = 900;

/** All uploads of an account together. */
export const QUOTA_BYTES = 1024 * MEGABYTE;

/** Uploads that one process receives at a time, of all accounts and of one. */
export const UPLOADS_AT_ONCE = { all: 8, ofAccount: 3 };
