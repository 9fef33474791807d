import type { KeyGate } from '../../accounts/key-gate.ts';
import type { Database } from '../../database/database.ts';
import { ApiError } from '../../kernel/errors.ts';
import type { Links } from '../../storage/links.ts';
import { deleteOutput } from '../../tasks/cancel/delete-output.ts';
import type { PublicColumns } from '../../tasks/task.ts';
import { described, type Endpoint, type PublicRoute } from '../public/endpoint.ts';
import { namedTaskRead, TaskParamsSchema } from '../public/named-task.ts';
import { conflictResponse, errorResponses } from '../public/schemas.ts';
import { videoTask } from '../public/video-task.ts';

/** DELETE /tasks/{id}/output: the video is deleted now; its charge stays. */
export const deleteOutputOfCaller: Endpoint<{ gate: KeyGate; db: Database; links: Links }> = {
  description: described('DELETE /tasks/:id/output', {
    operationId: 'deleteTaskOutput',
    summary: 'Delete the video of a completed task now; its links give 410',
    params: TaskParamsSchema,
    response: {
      204: { description: 'The video is deleted. Its charge stays.', type: 'null' },
      ...errorResponses(400, 401, 404, 413, 429, 503),
      ...conflictResponse('no_output', 'The task is not completed: it has no video.'),
    },
  }),
  serve(api, { gate, db, links }) {
    const { admit, taskOf } = namedTaskRead(gate, 'admit_delete_output');
    api.route<PublicRoute>({
      ...deleteOutputOfCaller.description,
      config: { admit },
      handler: async (request, reply) => {
        const task = await taskOf(request);
        await deleteOutput(
          db,
          requireOutput(task, (one) => videoTask(one, links)),
        );
        return reply.code(204).send();
      },
    });
  },
};

/**
 * The output of a completed task.
 * @param show makes the task in the details of the error
 * @throws ApiError `no_output`
 */
export function requireOutput(task: PublicColumns, show: (task: PublicColumns) => object): string {
  const { phase, output_object_id: objectId } = task;
  if (phase === 'completed' && objectId !== null) return objectId;
  const message =
    phase === 'failed'
      ? 'This task failed: it has no video.'
      : 'This task is not completed: cancel it instead.';
  throw new ApiError('no_output', message, { details: { task: show(task) } });
}
