// The room telemetry/: what other rooms report, and who listens. Metrics count reports; tracing.ts
// makes spans while tracing is on.

/** What parts of the service report about their work. Strings become metric labels: few values. */
export interface Reports {
  batch: { batch: string; items: number; seconds: number };
  /** One claim of due tasks by a worker pool of this process. */
  claim: { pool: string; tasks: number; seconds: number };
  /** A worker pool has begun (1) or stopped (-1) working on a task; `slots`: the most at a time. */
  slot: { pool: string; change: 1 | -1; slots: number };
  step: { phase: string; result: 'moved' | 'postponed' | 'superseded' | 'failed'; seconds: number };
  /** A task left a phase after `seconds`. */
  phase: { phase: string; seconds: number };
  /** A task ended, `seconds` after its create. */
  end: { outcome: 'completed' | 'failed'; seconds: number };
  /** Credits that moved for a task, after the commit. */
  credits: { movement: 'reserve' | 'capture' | 'refund'; credits: number };
  /** `wait`: for a connection; `query`, `transaction`: while the connection was in use. */
  database: { part: 'wait' | 'query' | 'transaction'; seconds: number };
  /**
   * One call to a provider. submit: `accepted`, `rejected_request`, `rejected_busy`,
   * `rejected_operator`, `not_sent`, `unknown`. read: the kind of the status. find: `found`,
   * `absent`, `ambiguous`. cancel: `accepted`, `refused`. open_output: `opened`, `gone`. All:
   * `error`.
   */
  call: {
    provider: string;
    call: 'submit' | 'read' | 'find' | 'cancel' | 'open_output';
    outcome: string;
    seconds: number;
  };
  storage: { operation: string; outcome: 'done' | 'missing' | 'error'; seconds: number };
  /** The disk under DATA_DIR, in bytes: free space, and the space to keep free for each use. */
  disk: {
    freeBytes: number;
    reservedBytes: number;
    floors: { upload: number; input: number; output: number };
  };
  /** A read found that the storage has lost a file. */
  vanished: { role: string };
  /** Reading one file in full, with the wait for a free decoder. */
  decode: { kind: string; outcome: 'measured' | 'stopped' | 'refused' | 'error'; seconds: number };
  /**
   * Adding Content Credentials to one video: `signed`, why it was not, or `failed`. `given_up`: it
   * is stored unsigned, after these seconds.
   */
  signing: { outcome: string; seconds: number };
  /** The certificate that signs Content Credentials now. */
  certificate: { expiresAt: Date };
  poster: { outcome: 'drawn' | 'failed'; seconds: number };
  /** One try to deliver an event; `refused`: the receiver responded, but not with success. */
  webhook: { outcome: 'delivered' | 'refused' | 'unreachable'; seconds: number };
  /** What was decided about a task before its submit, and by what. */
  verdict: { verdict: string; source: string };
  periodic: { work: string; result: 'done' | 'failed'; seconds: number };
}

type Listener<Kind extends keyof Reports> = (report: Reports[Kind]) => void;

const listeners = new Map<keyof Reports, Set<Listener<never>>>();

/** Reports to the metrics of this process. Without a listener it costs almost nothing. */
export function report<Kind extends keyof Reports>(kind: Kind, value: Reports[Kind]): void {
  for (const listener of listeners.get(kind) ?? []) (listener as Listener<Kind>)(value);
}

/** Calls the listener with each report of this kind, until the returned function is called. */
export function onReport<Kind extends keyof Reports>(
  kind: Kind,
  listener: Listener<Kind>,
): () => void {
  const added = listeners.get(kind) ?? new Set();
  listeners.set(kind, added);
  added.add(listener);
  return () => void added.delete(listener);
}

export function secondsSince(startedAt: number): number {
  return (performance.now() - startedAt) / 1000;
}
