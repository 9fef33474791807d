import { Type } from 'typebox';
import type { KeyGate } from '../../accounts/key-gate.ts';
import type { OwnerCancel } from '../../attempts/cancel.ts';
import { cancelForOwner, deleteOutputOf, type EndDeps } from '../../requests/end-task.ts';
import { VideoTaskSchema, videoTask } from '../../requests/video-task.ts';
import { publicColumns, readOwned } from '../../tasks/task.ts';
import { callerOf, endpoint } from './endpoint.ts';
import { admitAndReadTask, TaskParamsSchema } from './get-task.ts';
import { conflictResponse, EXAMPLE_TASK, errorResponses, shown } from './schemas.ts';

const CancelSchema = Type.Object(
  {
    cancel: Type.Enum(['cancelled', 'pending', 'refused'], {
      description:
        'cancelled: the task failed and its credits are refunded. pending: the provider was ' +
        'asked; read the task to see how it ends. refused: the task goes on',
    }),
    refusal: Type.Unsafe<OwnerCancel['refusal']>({
      type: ['string', 'null'],
      description:
        'Why it was refused. video_is_finished: the video is there already, or is being copied. ' +
        'provider_cannot: the provider does not cancel this job',
    }),
    task: { ...VideoTaskSchema, description: 'The task as it is now' },
  },
  { title: 'CancelResult' },
);

const EXAMPLE = {
  cancel: 'cancelled',
  refusal: null,
  task: {
    ...EXAMPLE_TASK,
    status: 'failed',
    credits_refunded: EXAMPLE_TASK.credits_used,
    output: null,
    error: {
      code: 'cancelled',
      message: 'The task was cancelled. The credits are refunded.',
    },
  },
};

export const cancelTaskOfCaller = endpoint<EndDeps & { gate: KeyGate }>('POST /tasks/:id/cancel', {
  operationId: 'cancelTask',
  summary: 'Cancel a task; its credits are refunded if no video will be made',
  params: TaskParamsSchema,
  response: {
    200: shown('The outcome of the cancel.', CancelSchema, EXAMPLE),
    ...errorResponses(400, 401, 404, 413, 429, 503),
    ...conflictResponse('not_cancellable', 'The task is held, or it has ended.'),
  },
  serve: (deps) => {
    const { gate, db, links } = deps;
    const { admit, taskOf } = admitAndReadTask(gate, 'admit_cancel');
    return {
      config: { admit },
      handler: async (request) => {
        const { id } = taskOf(request);
        const { accountId, surface } = callerOf(request);
        const owned = await readOwned(db, id, accountId, surface);
        if (!owned) throw new Error(`${id} has vanished`);
        const { task, ...outcome } = await cancelForOwner(deps, owned);
        return { ...outcome, task: videoTask(publicColumns(task), links) };
      },
    };
  },
});

export const deleteOutputOfCaller = endpoint<EndDeps & { gate: KeyGate }>(
  'DELETE /tasks/:id/output',
  {
    operationId: 'deleteTaskOutput',
    summary: 'Delete the video of a completed task now; its links give 410',
    params: TaskParamsSchema,
    response: {
      204: { description: 'The video is deleted. Its charge stays.', type: 'null' },
      ...errorResponses(400, 401, 404, 413, 429, 503),
      ...conflictResponse('no_output', 'The task is not completed: it has no video.'),
    },
    serve: (deps) => {
      const { admit, taskOf } = admitAndReadTask(deps.gate, 'admit_delete_output');
      return {
        config: { admit },
        handler: async (request, reply) => {
          await deleteOutputOf(deps, taskOf(request));
          return reply.code(204).send();
        },
      };
    },
  },
);
