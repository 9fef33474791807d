import type { FastifyReply } from 'fastify';
import { Type } from 'typebox';
import type { KeyGate } from '../../accounts/key-gate.ts';
import type { Database } from '../../database/database.ts';
import { sharedWork } from '../../database/shared-work.ts';
import { VideoTaskSchema, videoTask } from '../../requests/video-task.ts';
import type { Links } from '../../storage/links.ts';
import { type PublicColumns, publicColumns, readTasks, type Task } from '../../tasks/task.ts';
import { hasEnded, type Waiting } from '../../tasks/waiting.ts';
import { preferredWait } from '../prefer.ts';
import {
  callerOf,
  described,
  type Endpoint,
  type PublicRequest,
  type PublicRoute,
} from './endpoint.ts';
import { namedTaskRead, TaskParamsSchema } from './named-task.ts';
import { EXAMPLE_TASK, errorResponses } from './schemas.ts';

interface GetTaskDeps {
  gate: KeyGate;
  db: Database;
  links: Links;
  waiting: Pick<Waiting, 'end'>;
}

// The route reads the header itself: a preference that is not understood is no error.
const PreferHeader = Type.Object({
  prefer: Type.Optional(
    Type.String({
      title: 'Prefer',
      description:
        'wait=N: the response comes when the task has ended, or after N seconds (1 to 30). ' +
        'With too many requests waiting it comes at once, without Preference-Applied.',
    }),
  ),
});

/**
 * GET /tasks/{id}: admits the request and reads the task in one statement. With `Prefer: wait=N` it
 * responds when the task has ended or the time is over (decisions/0046).
 */
export const getTask: Endpoint<GetTaskDeps> = {
  description: described('GET /tasks/:id', {
    operationId: 'getTask',
    summary: 'Read the current state of a task',
    params: TaskParamsSchema,
    headers: PreferHeader,
    response: {
      200: { description: 'The task.', ...VideoTaskSchema, examples: [EXAMPLE_TASK] },
      ...errorResponses(400, 401, 404, 429, 503),
    },
  }),
  serve(api, { gate, db, links, waiting }) {
    const { admit, taskOf } = namedTaskRead(gate, 'admit_task');
    api.route<PublicRoute>({
      ...getTask.description,
      config: { admit },
      handler: async (request, reply) => {
        const task = await taskOf(request);
        const seconds = preferredWait(request.headers.prefer);
        if (seconds === undefined) return reply.send(videoTask(task, links));
        const waited = await waitForEnd({ request, reply, task, seconds }, { db, waiting });
        return reply.send(videoTask(waited, links));
      },
    });
  },
};

interface Wait {
  request: PublicRequest;
  reply: FastifyReply;
  task: PublicColumns;
  seconds: number;
}

/** The task as it is when the response is sent. */
async function waitForEnd(
  { request, reply, task, seconds }: Wait,
  { db, waiting }: Pick<GetTaskDeps, 'db' | 'waiting'>,
): Promise<PublicColumns> {
  const apply = () => reply.header('preference-applied', `wait=${seconds}`);
  if (hasEnded(task)) {
    apply();
    return task;
  }
  const gone = new AbortController();
  reply.raw.once('close', () => gone.abort());
  const { keyId } = callerOf(request);
  const outcome = await waiting.end({ taskId: task.id, seconds, keyId, signal: gone.signal });
  if (outcome === undefined || outcome === 'gone') return task;
  if (outcome !== 'stopped') apply();
  const ended = typeof outcome === 'string' ? await readTogether(db, task.id) : outcome;
  return ended ? publicColumns(ended) : task;
}

/** Reads a task after a wait; the waits that are over together share a query. */
const readTogether = sharedWork<string, Task | undefined>({
  keyOf: (id) => id,
  async work(db, ids) {
    const tasks = new Map((await readTasks(db, ids)).map((task) => [task.id, task]));
    return ids.map((id) => tasks.get(id));
  },
});
