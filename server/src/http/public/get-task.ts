import { Type } from 'typebox';
import type { KeyGate } from '../../accounts/key-gate.ts';
import { ApiError } from '../../kernel/errors.ts';
import type { Links } from '../../storage/links.ts';
import { readArchived } from '../../tasks/archived.ts';
import { type PublicColumns, publicColumns, TASK_OF_CALLER } from '../../tasks/task.ts';
import {
  callerOf,
  type Endpoint,
  fusedRead,
  type PublicRequest,
  type PublicRoute,
} from './endpoint.ts';
import { errorResponses } from './schemas.ts';
import { VideoTaskSchema, videoTask } from './video-task.ts';

/** The longest task id in the path (contract, "Limits"). */
const ID_CHARACTERS = 120;

const ParamsSchema = Type.Object({ id: Type.String({ maxLength: ID_CHARACTERS }) });

type Row = PublicColumns | { id: null };

/**
 * The id in the path. U+0000 becomes a space: Postgres refuses a text with U+0000, and no task id
 * has a space, so the response is 404.
 */
function idOf({ params: { id = '' } }: PublicRequest): string {
  return id.replaceAll('\u0000', ' ');
}

/** @throws ApiError `not_found` */
async function archivedTask({ db }: KeyGate, request: PublicRequest): Promise<PublicColumns> {
  const task = await readArchived(db, idOf(request), callerOf(request));
  if (!task) throw new ApiError('not_found', 'This account has no task with this id.');
  return publicColumns(task);
}

/** GET /tasks/{id}: admits the request and reads the task in one statement. */
export const getTask: Endpoint<{ gate: KeyGate; links: Links }> = {
  description: {
    method: 'GET',
    url: '/tasks/:id',
    schema: {
      operationId: 'getTask',
      summary: 'Read the current state of a task',
      params: ParamsSchema,
      response: {
        200: { description: 'The task.', ...VideoTaskSchema },
        ...errorResponses(400, 401, 404, 429, 503),
      },
    },
  },
  serve(api, { gate, links }) {
    const read = { ...TASK_OF_CALLER, argumentOf: idOf, isResponse: true };
    const { admit, rowOf } = fusedRead<Row>(gate, 'admit_task', read);
    api.route<PublicRoute>({
      ...getTask.description,
      config: { admit },
      handler: async (request, reply) => {
        const row = rowOf(request);
        const task = row.id === null ? await archivedTask(gate, request) : row;
        return reply.send(videoTask(task, links));
      },
    });
  },
};
