import type { KeyGate } from '../../accounts/key-gate.ts';
import type { Links } from '../../storage/links.ts';
import type { Endpoint, PublicRoute } from './endpoint.ts';
import { namedTaskRead, TaskParamsSchema } from './named-task.ts';
import { errorResponses } from './schemas.ts';
import { VideoTaskSchema, videoTask } from './video-task.ts';

/** GET /tasks/{id}: admits the request and reads the task in one statement. */
export const getTask: Endpoint<{ gate: KeyGate; links: Links }> = {
  description: {
    method: 'GET',
    url: '/tasks/:id',
    schema: {
      operationId: 'getTask',
      summary: 'Read the current state of a task',
      params: TaskParamsSchema,
      response: {
        200: { description: 'The task.', ...VideoTaskSchema },
        ...errorResponses(400, 401, 404, 429, 503),
      },
    },
  },
  serve(api, { gate, links }) {
    const { admit, taskOf } = namedTaskRead(gate, 'admit_task');
    api.route<PublicRoute>({
      ...getTask.description,
      config: { admit },
      handler: async (request, reply) => reply.send(videoTask(await taskOf(request), links)),
    });
  },
};
