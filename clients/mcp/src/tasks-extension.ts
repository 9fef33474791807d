import type { VideoTask } from '@framewright/client';
import {
  type CallToolResult,
  CLIENT_CAPABILITIES_META_KEY,
  fromJsonSchema,
  type McpServer,
  type ServerContext,
} from '@modelcontextprotocol/server';
import { taskResult } from './results.ts';
import type { Session } from './session.ts';

/** The extension with which a client itself waits for what a call started. */
export const TASKS_EXTENSION = 'io.modelcontextprotocol/tasks';

const POLL_INTERVAL_MS = 5000;
const PARAMS = fromJsonSchema<{ taskId: string }>({
  type: 'object',
  properties: { taskId: { type: 'string', maxLength: 160 } },
  required: ['taskId'],
});

/** Whether the client of a request has the extension. */
export function offersTasks({ mcpReq }: ServerContext): boolean {
  const envelope: Record<string, unknown> = mcpReq.envelope ?? {};
  const capabilities = envelope[CLIENT_CAPABILITIES_META_KEY];
  const { extensions } = (capabilities ?? {}) as { extensions?: Record<string, unknown> };
  return extensions?.[TASKS_EXTENSION] !== undefined;
}

/** The result of a call that goes on: the client asks for its end with `tasks/get`. */
export function createTaskResult(task: VideoTask): CallToolResult {
  return { resultType: 'task', content: [], ...stateOf(task) };
}

/** Serves `tasks/get`, `tasks/cancel` and `tasks/update`. A task here is a task of the API. */
export function serveTasks(server: McpServer, { client, budget }: Session): void {
  const { server: protocol } = server;
  protocol.setRequestHandler('tasks/get', { params: PARAMS }, async ({ taskId }, { mcpReq }) => {
    const task = await client.videos.get(taskId, { signal: mcpReq.signal });
    budget?.seen(task);
    return { ...stateOf(task), ...(task.status !== 'processing' && { result: taskResult(task) }) };
  });
  protocol.setRequestHandler('tasks/cancel', { params: PARAMS }, async ({ taskId }) => {
    await client.videos.cancel(taskId);
    return {};
  });
  protocol.setRequestHandler('tasks/update', { params: PARAMS }, () => ({})); // asks for no input
}

/** A failed video is a completed call, whose result says that it is an error. */
function stateOf(task: VideoTask) {
  return {
    taskId: task.id,
    status: task.status === 'processing' ? 'working' : 'completed',
    createdAt: task.created_at,
    lastUpdatedAt: task.updated_at ?? task.created_at,
    ttlMs: null,
    pollIntervalMs: POLL_INTERVAL_MS,
  };
}
