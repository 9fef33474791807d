import type { Framewright } from '@framewright/client';

/** What the tools of a connection work with. */
export interface Session {
  client: Framewright;
  /** The longest time that a call waits for a video, in seconds. */
  waitSeconds: number;
  /** Whether files of this machine may be uploaded. */
  hasFiles: boolean;
  /** Ends the waits when the server stops. */
  stopping?: AbortSignal | undefined;
}

/** Clients give up a call after 60 seconds. */
export const MAX_WAIT_SECONDS = 45;
