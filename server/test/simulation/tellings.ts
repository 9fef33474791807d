import type { VideoTask } from '../../src/tasks/task.ts';

/**
 * What a client was told of a request. `bound`: this task is its key's, for ever. `refunded`: this
 * task came to nothing, the credits are back. `busy`: nothing but "try again".
 */
export type Telling = { client: string; key: string } & (
  | { kind: 'bound'; taskId: string; status: VideoTask['status'] | 'held' }
  | { kind: 'refunded'; taskId: string }
  | { kind: 'busy' }
  | { kind: 'no_credits' }
);

/** All that clients were told in a history, in the order in which they heard it. */
export interface Tellings {
  add(telling: Telling): void;
  all(): readonly Telling[];
  /** The task that the client may ask about, if it was told of one under the key. */
  taskOf(client: string, key: string): string | undefined;
}

export function createTellings(): Tellings {
  const tellings: Telling[] = [];
  return {
    add: (telling) => tellings.push(telling),
    all: () => tellings,
    taskOf(client, key) {
      const told = tellings.findLast(
        (one) => one.client === client && one.key === key && 'taskId' in one,
      );
      return told && 'taskId' in told ? told.taskId : undefined;
    },
  };
}
