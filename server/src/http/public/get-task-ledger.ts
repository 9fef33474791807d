import { Type } from 'typebox';
import type { KeyGate } from '../../accounts/key-gate.ts';
import type { Database } from '../../database/database.ts';
import { taskMovements } from '../../ledger/task-movements.ts';
import { callerOf, described, type Endpoint, type PublicRoute } from './endpoint.ts';
import { namedTaskRead, TaskParamsSchema } from './named-task.ts';
import { errorResponses } from './schemas.ts';

const REASONS = {
  reserve: 'set aside for the task',
  capture: 'spent, because it was completed',
  refund: 'returned to the balance, because it failed',
};

const MovementSchema = Type.Object(
  {
    created_at: Type.String({ format: 'date-time', description: 'When they moved' }),
    kind: Type.String({ description: 'Of the credits: paid' }),
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
  {
    data: Type.Array(MovementSchema, { description: 'The oldest movement first' }),
  },
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

/** GET /tasks/{id}/ledger: each movement of the credits of a task. */
export const getTaskLedger: Endpoint<{ gate: KeyGate; db: Database }> = {
  description: described('GET /tasks/:id/ledger', {
    operationId: 'getTaskLedger',
    summary: 'Read the movements of the credits of a task',
    params: TaskParamsSchema,
    response: {
      200: { description: 'The movements.', ...TaskLedgerSchema, examples: [EXAMPLE] },
      ...errorResponses(400, 401, 404, 429, 503),
    },
  }),
  serve(api, { gate, db }) {
    const { admit, taskOf } = namedTaskRead(gate, 'admit_task_ledger');
    api.route<PublicRoute>({
      ...getTaskLedger.description,
      config: { admit },
      handler: async (request) => {
        const { id } = await taskOf(request);
        const movements = await taskMovements(db, callerOf(request).accountId, id);
        return {
          data: movements.map(({ at, ...movement }) => {
            return { created_at: at.toISOString(), ...movement };
          }),
        };
      },
    });
  },
};
