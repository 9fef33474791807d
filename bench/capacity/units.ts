/** What one unit of work costs, as `bench/capacity/measure.ts` measured it (units.json). */
export interface Units {
  measuredAt: string;
  machine: string;
  create: Cost;
  read: Cost;
  /** All steps of a task after its create. Decoding runs in processes of its own: not included. */
  steps: Cost;
  /** A second of a worker without tasks. */
  idle: Cost;
  /** Bytes that a task keeps in each table, indexes included. */
  bytes: Record<string, number>;
  /** Database connections of a process, under load. */
  connections: { api: number; worker: number };
  /** Resident memory of an api process and of a worker process, under load. */
  memoryMegabytes: { api: number; worker: number };
}

export interface Cost {
  /** CPU time of the service's process. */
  processMs: number;
  /** CPU time of all processes of Postgres. */
  databaseMs: number;
  walBytes: number;
  commits: number;
}
