import type { EmbeddedPostgresLog } from '../watch.ts';

/** Drops every line, so that a test run prints only its results. */
export const silentLog: EmbeddedPostgresLog = { debug() {}, info() {}, warn() {} };
