import { Type } from 'typebox';
import type { KeyGate } from '../../accounts/key-gate.ts';
import type { Database } from '../../database/database.ts';
import { ApiError } from '../../kernel/errors.ts';
import type { Links } from '../../storage/links.ts';
import { NotCancellable } from '../../tasks/cancel/cancel.ts';
import { cancelOwn, type OwnCancel } from '../../tasks/cancel/cancel-own.ts';
import { readOwned } from '../../tasks/owned.ts';
import { publicColumns, type Task } from '../../tasks/task.ts';
import type { Waiting } from '../../tasks/waiting.ts';
import { callerOf, described, type Endpoint, type PublicRoute } from '../public/endpoint.ts';
import { namedTaskRead, TaskParamsSchema } from '../public/named-task.ts';
import { conflictResponse, EXAMPLE_TASK, errorResponses } from '../public/schemas.ts';
import { VideoTaskSchema, videoTask } from '../public/video-task.ts';

const CancelSchema = Type.Object(
  {
    cancel: Type.Enum(['cancelled', 'pending', 'refused'], {
      description:
        'cancelled: the task failed and its credits are refunded. pending: the provider was ' +
        'asked; read the task to see how it ends. refused: the task goes on',
    }),
    refusal: Type.Unsafe<OwnCancel['refusal']>({
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

export interface CancelDeps {
  db: Database;
  waiting: Pick<Waiting, 'stopping'>;
}

/** POST /tasks/{id}/cancel: ends a task with its refund, if no video will be made. */
export const cancelTaskOfCaller: Endpoint<CancelDeps & { gate: KeyGate; links: Links }> = {
  description: described('POST /tasks/:id/cancel', {
    operationId: 'cancelTask',
    summary: 'Cancel a task; its credits are refunded if no video will be made',
    params: TaskParamsSchema,
    response: {
      200: { description: 'What became of the cancel.', ...CancelSchema, examples: [EXAMPLE] },
      ...errorResponses(400, 401, 404, 413, 429, 503),
      ...conflictResponse('not_cancellable', 'The task is held, or it has ended.'),
    },
  }),
  serve(api, { gate, db, links, waiting }) {
    const { admit, taskOf } = namedTaskRead(gate, 'admit_cancel');
    api.route<PublicRoute>({
      ...cancelTaskOfCaller.description,
      config: { admit },
      handler: async (request) => {
        const { id } = await taskOf(request);
        const show = (task: Task) => videoTask(publicColumns(task), links);
        const owned = await readOwned(db, { id, ...callerOf(request) });
        if (!owned) throw new Error(`${id} has vanished`);
        const { task, ...outcome } = await cancelForOwner({ db, waiting }, owned, show);
        return { ...outcome, task: show(task) };
      },
    });
  },
};

/**
 * Cancels a task as its owner wants.
 * @param show makes the task in the details of an error
 * @throws ApiError `not_cancellable`, `service_busy`
 */
export async function cancelForOwner(
  { db, waiting }: CancelDeps,
  task: Task,
  show: (task: Task) => object,
): Promise<OwnCancel> {
  try {
    return await cancelOwn(db, task, waiting.stopping);
  } catch (error) {
    if (!(error instanceof NotCancellable)) throw error;
    const isHeld = error.obstacle === 'held';
    const message = isHeld
      ? 'It is not known whether the provider makes this video. The task is held until it is.'
      : 'This task has ended. There is nothing to cancel.';
    const owned = { id: task.id, accountId: task.account_id };
    const now = (await readOwned(db, owned)) ?? task;
    const details = { reason: isHeld ? 'held' : 'ended', task: show(now) };
    throw new ApiError('not_cancellable', message, { details, cause: error });
  }
}
