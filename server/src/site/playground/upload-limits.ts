const MEGABYTE = 2 ** 20;

/** The largest upload. */
export const MAX_UPLOAD_BYTES = 100 * MEGABYTE;

/** How long an upload may take: the largest one at one megabit per second. */
export const UPLOAD_SECONDS = 900;

/** An upload that brings less ends: a connection that has stalled shall not keep a place. */
export const MIN_UPLOAD_RATE = { bytes: MEGABYTE / 2, seconds: 30 };

/**
 * Uploads that one process receives at a time, of all people and of one mailbox. The last `first`
 * places are for mailboxes that have none, so that it takes six mailboxes to keep all others out.
 * An account is no measure: one mailbox can have any number, with plus-addresses.
 */
export const UPLOADS_AT_ONCE = { all: 8, ofMailbox: 3, first: 4 };
