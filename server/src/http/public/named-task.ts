import { Type } from 'typebox';
import type { KeyGate } from '../../accounts/key-gate.ts';
import { ApiError } from '../../kernel/errors.ts';
import { type PublicColumns, publicColumns, readOwned, TASK_OF_CALLER } from '../../tasks/task.ts';
import { type Admit, callerOf, fusedRead, type PublicRequest } from './endpoint.ts';

/** The longest task id in the path (contract, "Limits"). */
const ID_CHARACTERS = 120;

/** The parameters of a path that names a task. */
export const TaskParamsSchema = Type.Object({
  id: Type.String({
    title: 'TaskId',
    maxLength: ID_CHARACTERS,
    description: 'The id of a task of this account',
  }),
});

/**
 * The id in the path. U+0000 becomes a space: Postgres refuses a text with U+0000, and no task id
 * has a space, so the response is 404.
 */
function idOf({ params: { id = '' } }: PublicRequest): string {
  return id.replaceAll('\u0000', ' ');
}

/**
 * Admits the requests of a route whose path names a task, and reads the task in the same statement.
 * @param name of the statement, unique in the program
 */
export function namedTaskRead(gate: KeyGate, name: string) {
  const read = { ...TASK_OF_CALLER, argumentOf: idOf, inHalves: true };
  const { admit, rowOf } = fusedRead<PublicColumns | { id: null }>(gate, name, read);
  return {
    /** Belongs into the route's `config`. */
    admit: admit satisfies Admit,
    /**
     * The task, if it is of the caller's account and surface.
     * @throws ApiError `not_found`
     */
    async taskOf(request: PublicRequest): Promise<PublicColumns> {
      const row = rowOf(request);
      if (row.id !== null) return row;
      const task = await readOwned(gate.db, { id: idOf(request), ...callerOf(request) });
      if (!task) throw new ApiError('not_found', 'This account has no task with this id.');
      return publicColumns(task);
    },
  };
}
