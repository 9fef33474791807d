import type { Framewright } from '@framewright/client';
import type { Budget } from './budget.ts';

/** What the tools of a connection work with. */
export interface Session {
  client: Framewright;
  /** Absent: only the key's monthly cap and the balance limit what is spent. */
  budget?: Budget | undefined;
  /** The longest time that a call waits for a video, in seconds. */
  waitSeconds: number;
  /** Whether files of this machine may be uploaded. */
  hasFiles: boolean;
  /** Ends the waits when the server stops. */
  stopping?: AbortSignal | undefined;
}

/** Clients give up a call after 60 seconds. */
export const MAX_WAIT_SECONDS = 45;
