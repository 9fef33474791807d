import type { VideoTask } from '../../src/requests/video-task.ts';

/**
 * What a response told a client. `bound`: the key is bound to this task for good. `refunded`: this
 * task failed and its credits are refunded. `busy`: retry later; the response names no task.
 */
export type ClientObservation = { client: string; key: string } & (
  | { kind: 'bound'; taskId: string; status: VideoTask['status'] | 'held' }
  | { kind: 'refunded'; taskId: string }
  | { kind: 'busy' }
  | { kind: 'no_credits' }
);

/** All observations of the clients in a history, oldest first. */
export interface Observations {
  add(observation: ClientObservation): void;
  all(): readonly ClientObservation[];
  /** The newest task that a response for the key named to this client. */
  taskOf(client: string, key: string): string | undefined;
}

export function createObservations(): Observations {
  const observations: ClientObservation[] = [];
  return {
    add: (observation) => observations.push(observation),
    all: () => observations,
    taskOf(client, key) {
      const observed = observations.findLast(
        (one) => one.client === client && one.key === key && 'taskId' in one,
      );
      return observed && 'taskId' in observed ? observed.taskId : undefined;
    },
  };
}
