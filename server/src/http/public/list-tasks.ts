import { type Static, Type } from 'typebox';
import type { KeyGate } from '../../accounts/key-gate.ts';
import { modelSchema } from '../../catalog/model-schema.ts';
import type { Database } from '../../database/database.ts';
import { invalidRequest } from '../../kernel/errors.ts';
import { limitSchema } from '../../requests/routes.ts';
import { VideoTaskSchema, videoTask } from '../../requests/video-task.ts';
import type { Links } from '../../storage/links.ts';
import { listAccountTasks } from '../../tasks/account-tasks.ts';
import { callerOf, endpoint } from './endpoint.ts';
import { EXAMPLE_TASK, errorResponses, shown } from './schemas.ts';

const TimeSchema = (description: string) =>
  Type.Optional(Type.String({ format: 'date-time', description }));

const QuerySchema = Type.Object(
  {
    status: Type.Optional(
      Type.Enum(['processing', 'completed', 'failed'], { description: 'Only tasks in this state' }),
    ),
    model: Type.Optional(modelSchema({ description: 'Only tasks of this model' })),
    created_after: TimeSchema('Only tasks created at this time or later'),
    created_before: TimeSchema('Only tasks created before this time'),
    limit: limitSchema({ default: 20, description: 'Tasks per page' }),
    cursor: Type.Optional(
      Type.String({ maxLength: 400, description: 'The next_cursor of the previous page' }),
    ),
  },
  { additionalProperties: false },
);

const EXAMPLE = {
  data: [EXAMPLE_TASK],
  next_cursor: 'MjAyNi0xMS0yMiAxMDowMDowMCswMCB0YXNrXzdKcDA',
};

const TaskListSchema = Type.Object(
  {
    data: Type.Array(VideoTaskSchema, { description: 'The newest task first' }),
    next_cursor: Type.Unsafe<string | null>({
      type: ['string', 'null'],
      description:
        'Opaque. Send it as cursor, with the same filters, for the next page. null: there are no ' +
        'more tasks. With a filter, a page may have fewer tasks than limit, or none, and still a ' +
        'next page',
    }),
  },
  { title: 'TaskList' },
);

/** GET /tasks: the caller's tasks on this surface, newest first (decisions/0046). */
export const listTasksOfCaller = endpoint<
  { gate: KeyGate; db: Database; links: Links },
  { Querystring: Static<typeof QuerySchema> }
>('GET /tasks', {
  operationId: 'listTasks',
  summary: 'List tasks, the newest first',
  querystring: QuerySchema,
  response: {
    200: shown('A page of tasks.', TaskListSchema, EXAMPLE),
    ...errorResponses(400, 401, 429, 503),
  },
  serve: ({ db, links }) => ({
    handler: async (request) => {
      const { query } = request;
      const { accountId, surface } = callerOf(request);
      const { status: state, model, created_after, created_before, cursor, limit = 20 } = query;
      const from = timeOf('created_after', created_after);
      const until = timeOf('created_before', created_before);
      const filter = { state, model, from, until, surfaces: [surface] };
      const page = { after: cursor === undefined ? undefined : positionOf(cursor), limit };
      const { tasks, next } = await listAccountTasks(db, accountId, filter, page);
      const data = tasks.map((task) => {
        const { model, mode } = task.request;
        return videoTask({ ...task, model, mode }, links);
      });
      return { data, next_cursor: next === null ? null : writeCursor(next) };
    },
  }),
});

/** @throws ApiError `invalid_request` for an impossible time, such as second 60 */
function timeOf(field: string, text: string | undefined): Date | undefined {
  if (text === undefined) return undefined;
  const time = new Date(text);
  if (!Number.isNaN(time.getTime())) return time;
  throw invalidRequest(`${field} is not a time.`, { field, reason: 'malformed' });
}

function writeCursor(position: string): string {
  return Buffer.from(position).toString('base64url');
}

/** Empty if the text is not base64url, so that the list refuses it. */
function positionOf(cursor: string): string {
  const position = Buffer.from(cursor, 'base64url').toString();
  return writeCursor(position) === cursor ? position : '';
}
