import { Type } from 'typebox';
import type { Database } from '../../database/database.ts';
import { ApiError } from '../../kernel/errors.ts';
import type { Links } from '../../storage/links.ts';
import {
  type PublicColumns,
  TASK_OF_CALLER,
  VideoTaskSchema,
  videoTask,
} from '../../tasks/task.ts';
import { type Endpoint, fusedRead, type PublicRequest } from './endpoint.ts';
import { errorResponses } from './schemas.ts';

/** Contract, "Limits": the task id in the path, in characters. */
const ID_CHARACTERS = 120;

const ParamsSchema = Type.Object({ id: Type.String({ maxLength: ID_CHARACTERS }) });

type Row = PublicColumns | { id: null };

/** Postgres has no U+0000 in a text, and no task id has one. */
function idOf({ params: { id = '' } }: PublicRequest): string {
  return id.replaceAll('\u0000', ' ');
}

/** GET /tasks/{id}: authentication, rate window and read in one statement. */
export const getTask: Endpoint<{ db: Database; links: Links }> = {
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
  serve(api, { db, links }) {
    const read = { ...TASK_OF_CALLER, argumentOf: idOf };
    const { admit, rowOf } = fusedRead<Row>(db, 'admit_task', read);
    api.route({
      ...getTask.description,
      config: { admit },
      handler: async (request, reply) => {
        const row = rowOf(request);
        if (row.id === null)
          throw new ApiError('not_found', 'This account has no task with this id.');
        return reply.send(videoTask(row, links));
      },
    });
  },
};
