import type { FastifyInstance } from 'fastify';
import { Type } from 'typebox';
import { openAdmission } from '../../accounts/admission.ts';
import type { Database } from '../../database/database.ts';
import { ApiError } from '../../kernel/errors.ts';
import type { Links } from '../../storage/links.ts';
import {
  type PublicColumns,
  TASK_OF_CALLER,
  VideoTaskSchema,
  videoTask,
} from '../../tasks/task.ts';
import { errorResponses, SURFACE } from './schemas.ts';

/** Contract, "Limits": the task id in the path, in characters. */
const ID_CHARACTERS = 120;

type Row = PublicColumns | { id: null };

/** GET /tasks/{id}: authentication, rate window and read in one statement. */
export function getTaskRoute(app: FastifyInstance, deps: { db: Database; links: Links }): void {
  const admit = openAdmission<Row>(deps.db, 'admit_task', TASK_OF_CALLER);
  app.get<{ Params: { id: string } }>(
    '/tasks/:id',
    {
      validatorCompiler: () => () => true, // the schema only tells: 401 and 429 come first
      schema: {
        operationId: 'getTask',
        summary: 'Read the current state of a task',
        params: Type.Object({ id: Type.String({ maxLength: ID_CHARACTERS }) }),
        response: {
          200: { description: 'The task.', ...VideoTaskSchema },
          ...errorResponses(400, 401, 404, 429, 503),
        },
      },
    },
    async (request, reply) => {
      const { id } = request.params;
      const { authorization } = request.headers;
      const argument = id.replaceAll('\u0000', ' '); // Postgres knows no U+0000, and no id has one
      const row = await admit({ authorization, surface: SURFACE, argument });
      if ([...id].length > ID_CHARACTERS) throw idTooLong();
      if (row.id === null) throw new ApiError('not_found', 'There is no such task.');
      return reply.send(videoTask(row, deps.links));
    },
  );
}

function idTooLong(): ApiError {
  const message = `A task id has at most ${ID_CHARACTERS} characters.`;
  return new ApiError('invalid_request', message, { details: { field: 'id', reason: 'too_long' } });
}
