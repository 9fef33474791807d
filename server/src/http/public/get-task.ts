import type { FastifyReply } from 'fastify';
import { Type } from 'typebox';
import type { KeyGate } from '../../accounts/key-gate.ts';
import type { Database } from '../../database/database.ts';
import { storable } from '../../database/json-text.ts';
import { sharedWork } from '../../database/shared-work.ts';
import { ApiError } from '../../kernel/errors.ts';
import { taskMovements } from '../../ledger/statement.ts';
import { VideoTaskSchema, videoTask } from '../../requests/video-task.ts';
import type { Links } from '../../storage/links.ts';
import {
  type PublicColumns,
  publicColumns,
  readTasks,
  TASK_OF_CALLER,
  type Task,
} from '../../tasks/task.ts';
import { hasEnded, type Waiting } from '../../tasks/waiting.ts';
import {
  type Admit,
  callerOf,
  endpoint,
  fusedRead,
  idInPath,
  type PublicRequest,
} from './endpoint.ts';
import { EXAMPLE_TASK, errorResponses, shown } from './schemas.ts';

export const TaskParamsSchema = idInPath('TaskId', 'The id of a task of this account');

/**
 * Admits requests whose path names a task, and reads the task in the same statement.
 * @param name of the prepared statement, unique in the program
 */
export function admitAndReadTask(gate: KeyGate, name: string) {
  const idOf = ({ params: { id = '' } }: PublicRequest) => storable(id);
  const read = { ...TASK_OF_CALLER, argumentOf: idOf, isPipelined: true };
  const { admit, rowOf } = fusedRead<PublicColumns | { id: null }>(gate, name, read);
  return {
    admit: admit satisfies Admit,
    /** @throws ApiError `not_found` unless it belongs to the caller's account and surface */
    taskOf(request: PublicRequest): PublicColumns {
      const row = rowOf(request);
      if (row.id !== null) return row;
      throw new ApiError('not_found', 'This account has no task with this id.');
    },
  };
}

export const MAX_WAIT_SECONDS = 30;

/**
 * The seconds of `Prefer: wait=N` (RFC 7240), at most {@link MAX_WAIT_SECONDS}. Unknown preferences
 * are ignored, as the RFC says; the first of several waits wins.
 */
function preferredWait(header: string | string[] = ''): number | undefined {
  const preferences = [header].flat().join(',').split(',');
  const wait = preferences.find((preference) => /^\s*wait\s*(=|;|$)/i.test(preference)) ?? '';
  const [, , digits = ''] = /^\s*wait\s*=\s*("?)(\d+)\1\s*(;|$)/i.exec(wait) ?? [];
  const seconds = Math.min(Number(digits), MAX_WAIT_SECONDS);
  return seconds > 0 ? seconds : undefined;
}

interface GetTaskDeps {
  gate: KeyGate;
  db: Database;
  links: Links;
  waiting: Pick<Waiting, 'untilEnded'>;
}

// Parsed by the route itself: an unknown preference is not an error.
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

/** With `Prefer: wait=N` the response waits for the end of the task, or N s (decisions/0046). */
export const getTask = endpoint<GetTaskDeps>('GET /tasks/:id', {
  operationId: 'getTask',
  summary: 'Read the current state of a task',
  params: TaskParamsSchema,
  headers: PreferHeader,
  response: {
    200: shown('The task.', VideoTaskSchema, EXAMPLE_TASK),
    ...errorResponses(400, 401, 404, 429, 503),
  },
  serve: ({ gate, db, links, waiting }) => {
    const { admit, taskOf } = admitAndReadTask(gate, 'admit_task');
    return {
      config: { admit },
      handler: async (request, reply) => {
        const task = taskOf(request);
        const seconds = preferredWait(request.headers.prefer);
        if (seconds === undefined) return reply.send(videoTask(task, links));
        const waited = await waitForEnd({ request, reply, task, seconds }, { db, waiting });
        return reply.send(videoTask(waited, links));
      },
    };
  },
});

interface Wait {
  request: PublicRequest;
  reply: FastifyReply;
  task: PublicColumns;
  seconds: number;
}

async function waitForEnd(
  { request, reply, task, seconds }: Wait,
  { db, waiting }: Pick<GetTaskDeps, 'db' | 'waiting'>,
): Promise<PublicColumns> {
  const confirm = () => reply.header('preference-applied', `wait=${seconds}`);
  if (hasEnded(task)) {
    confirm();
    return task;
  }
  const gone = new AbortController();
  reply.raw.once('close', () => gone.abort());
  const wait = { taskId: task.id, seconds, keyId: callerOf(request).keyId, signal: gone.signal };
  const outcome = await waiting.untilEnded(wait);
  if (outcome === undefined || outcome === 'gone') return task;
  // A shutdown ends the wait early: the header must not say that it lasted.
  if (outcome !== 'stopped') confirm();
  const isUnended = outcome === 'timeout' || outcome === 'stopped';
  const latest = isUnended ? await readTogether(db, task.id) : outcome;
  return latest ? publicColumns(latest) : task;
}

/** Re-reads tasks after their waits; waits that end together share a query. */
const readTogether = sharedWork<string, Task | undefined>({
  keyOf: (id) => id,
  async work(db, ids) {
    const tasks = new Map((await readTasks(db, ids)).map((task) => [task.id, task]));
    return ids.map((id) => tasks.get(id));
  },
});

const REASONS = {
  reserve: 'set aside for the task',
  capture: 'spent, because it was completed',
  refund: 'returned to the balance, because it failed',
};

const MovementSchema = Type.Object(
  {
    created_at: Type.String({ format: 'date-time', description: 'When they moved' }),
    kind: Type.String({ description: 'The kind of credits: paid, or test for a test key' }),
    reason: Type.String({
      description: Object.entries(REASONS)
        .map((words) => words.join(': '))
        .join('; '),
    }),
    credits: Type.Integer({ minimum: 0, description: 'How many' }),
  },
  { title: 'CreditMovement' },
);

const TaskLedgerSchema = Type.Object(
  { data: Type.Array(MovementSchema, { description: 'The oldest movement first' }) },
  { title: 'TaskLedger' },
);

const movement = (created_at: string, reason: keyof typeof REASONS) => {
  return { created_at, kind: 'paid', reason, credits: 250 };
};
const EXAMPLE = {
  data: [
    movement('2026-11-22T10:00:00.000Z', 'reserve'),
    movement('2026-11-22T10:01:30.000Z', 'capture'),
  ],
};

export const getTaskLedger = endpoint<{ gate: KeyGate; db: Database }>('GET /tasks/:id/ledger', {
  operationId: 'getTaskLedger',
  summary: 'Read the movements of the credits of a task',
  params: TaskParamsSchema,
  response: {
    200: shown('The movements.', TaskLedgerSchema, EXAMPLE),
    ...errorResponses(400, 401, 404, 429, 503),
  },
  serve: ({ gate, db }) => {
    const { admit, taskOf } = admitAndReadTask(gate, 'admit_task_ledger');
    return {
      config: { admit },
      handler: async (request) => {
        const { id } = taskOf(request);
        const movements = await taskMovements(db, callerOf(request).accountId, id);
        const data = movements.map(({ at, ...movement }) => {
          return { created_at: at.toISOString(), ...movement };
        });
        return { data };
      },
    };
  },
});
