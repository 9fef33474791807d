import type { VideoTask } from '../../src/tasks/task.ts';

/**
 * What a client was told of a request. `bound`: this task is its key's, for ever. `refunded`: this
 * task came to nothing, the credits are back. `busy`: nothing but "try again".
 */
export type ClientObservation = { client: string; key: string } & (
  | { kind: 'bound'; taskId: string; status: VideoTask['status'] | 'held' }
  | { kind: 'refunded'; taskId: string }
  | { kind: 'busy' }
  | { kind: 'no_credits' }
);

/** All that clients were told in a history, in the order in which they heard it. */
export interface Observations {
  add(observation: ClientObservation): void;
  all(): readonly ClientObservation[];
  /** The task that the client may ask about, if it was told of one under the key. */
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
