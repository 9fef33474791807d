import { AbortError, ApiError, FramewrightError, type VideoTask } from '@framewright/client';
import type { CallToolResult } from '@modelcontextprotocol/server';

/** An input that a tool itself refuses. Nothing was sent. */
export class RefusedInput extends Error {
  override readonly name = 'RefusedInput';
  readonly data: object;
  constructor(message: string, data: object = {}) {
    super(message);
    this.data = { code: 'invalid_request', charged: 'no', retry: 'never', ...data };
  }
}

/** A sentence for the model, and the same facts as data. */
export function result(text: string, data: object): CallToolResult {
  return { content: [{ type: 'text', text }], structuredContent: { ...data } };
}

const failedResult = (text: string, data: object) => ({ ...result(text, data), isError: true });

/**
 * A task's state, price and next step. A failed task is an error result.
 * @param waitSeconds the rate limit's Retry-After, if there was one
 */
export function taskResult(task: VideoTask, waitSeconds?: number): CallToolResult {
  const { id, status, credits_used: credits, output } = task;
  if (status === 'failed') return failedTask(task);
  if (status === 'completed' && output) {
    const { video_url: uri } = output;
    const completed = result(
      `The video of ${id} is completed, for ${credits} credits: ${uri}`,
      task,
    );
    completed.content.push({
      type: 'resource_link',
      uri,
      name: `${id}.mp4`,
      mimeType: 'video/mp4',
    });
    return completed;
  }
  const later = waitSeconds === undefined ? 'later' : `in ${waitSeconds} seconds`;
  return result(
    `The video of ${id} is still being made; ${credits} credits are reserved for it. Call ` +
      `get_video with this task_id ${later}. Do not call generate_video for it with another ` +
      'request_id: that would be a second video.',
    { ...task, ...(waitSeconds !== undefined && { retry_after_seconds: waitSeconds }) },
  );
}

function failedTask(task: VideoTask): CallToolResult {
  const { id, error, credits_refunded: refunded } = task;
  return failedResult(
    `The video of ${id} failed (${error?.code}): ${error?.message} Charged: nothing, ` +
      `${refunded} credits were refunded. To try again, call generate_video with a new request_id.`,
    { ...task, charged: 'refunded', retry: 'new_key' },
  );
}

/** Tells the model what a failed call means for the video and its credits. */
export type Advice = (error: FramewrightError, when: string) => string;

/** For tools that only read. */
export const adviceOnRead: Advice = (error, when) => {
  const isRefused = error instanceof ApiError && error.status < 500 && error.status !== 429;
  return isRefused ? 'Do not call again unchanged.' : `Call again${when}.`;
};

/** For tools that name a task: a failed read says nothing about its credits. */
export const adviceOnTask: Advice = (error, when) =>
  `${adviceOnRead(error, when)} If generate_video started this video, it stays charged: ` +
  'never start it again with another request_id.';

/** For the tool that charges. */
export const adviceOnCharge: Advice = ({ charged, retry, taskId }, when) => {
  const task = taskId === undefined ? '' : ` (${taskId})`;
  const charges = {
    no: 'Charged: nothing by this call.',
    reserved: `Charged: yes, or not known yet${task}; a video that fails is refunded.`,
    refunded: 'Charged: nothing, the credits were refunded.',
  };
  const next = {
    same_key: `Retry: yes${when}, with the same request_id; it is never charged twice.`,
    new_key: `Retry: yes${when}, with a new request_id.`,
    never: 'Retry: not unchanged. Correct the cause, and keep the request_id.',
  };
  return `${charges[charged]} ${next[retry]}`;
};

/** Turns a failed call into an error result; bugs of this program are rethrown. */
export function errorResult(error: unknown, advise: Advice): CallToolResult {
  if (error instanceof RefusedInput) return failedResult(error.message, error.data);
  if (!(error instanceof FramewrightError)) throw error;
  const { code, charged, retry, taskId, idempotencyKey } = error;
  const message = error instanceof AbortError ? 'No response came in time.' : error.message;
  const { details, retryAfterSeconds } = error instanceof ApiError ? error : {};
  const when = retryAfterSeconds === undefined ? '' : ` in ${retryAfterSeconds} seconds`;
  const price = details?.required_credits;
  const costs = price === undefined ? '' : ` It costs ${price} credits.`;
  return failedResult(`${message}${costs} ${advise(error, when)}`, {
    code,
    message,
    charged,
    retry,
    task_id: taskId,
    request_id: idempotencyKey?.replace(/^mcp:/, ''),
    retry_after_seconds: retryAfterSeconds,
    credits: price,
    x_request_id: error.requestId,
  });
}
