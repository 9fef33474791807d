import type { Framewright } from '@framewright/client';

/** What the tools of a connection work with. */
export interface Session {
  client: Framewright;
  /** The longest time that a call waits for a video, in seconds. */
  waitSeconds: number;
  /** Absent where there are no files of the user: over HTTP. */
  files?: { /** Files below it may be uploaded. */ folder: string | undefined } | undefined;
  /** How often a read is sent again while a call waits; the default is the client's. */
  maxRetries?: number | undefined;
  /** Ends the waits when the server stops. */
  stopping?: AbortSignal | undefined;
}

/** Clients give up a call after 60 seconds. */
export const MAX_WAIT_SECONDS = 45;
