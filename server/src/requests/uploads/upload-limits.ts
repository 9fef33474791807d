const MEGABYTE = 2 ** 20;

/** The largest upload. */
export const MAX_UPLOAD_BYTES = 100 * MEGABYTE;

/** How long an upload may take: the largest one at one megabit per second. */
export const UPLOAD_SECONDS = 900;

/** An upload that brings less ends: a connection that has stalled shall not keep a place. */
export const MIN_UPLOAD_RATE = { bytes: MEGABYTE / 2, seconds: 30 };

/**
 * Uploads that one process receives at a time, of all people and of one mailbox. The last `first`
 * places are for mailboxes that have none, the last `paying` of these for accounts that have paid.
 * An account is no measure: one mailbox can have any number, with plus-addresses.
 */
export const UPLOADS_AT_ONCE = { all: 10, ofMailbox: 3, first: 6, paying: 2 };

/**
 * While all places are taken, an upload that is slower than one megabit per second since its
 * begin may lose its place to a mailbox that has none; not in its first seconds.
 */
export const SLOW_UPLOAD = { bytesPerSecond: 125_000, graceSeconds: 5 };
