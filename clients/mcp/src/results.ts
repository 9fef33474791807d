import { AbortError, FramewrightError, type VideoTask } from '@framewright/client';
import type { CallToolResult } from '@modelcontextprotocol/server';
import { AddressError } from './addresses.ts';

// What the tools return: a text for the model, and the same as data.

/** A result with a sentence for the model. */
export function result(text: string, data: object): CallToolResult {
  return { content: [{ type: 'text', text }], structuredContent: { ...data } };
}

/** The state of a task, and what to do next. A failed task is an error result. */
export function taskResult(task: VideoTask): CallToolResult {
  if (task.status === 'failed') return Object.assign(failedTask(task), { isError: true });
  if (task.status === 'completed' && task.output) {
    const { video_url: uri } = task.output;
    const told = result(`The video of ${task.id} is completed: ${uri}`, task);
    told.content.push({
      type: 'resource_link',
      uri,
      name: `${task.id}.mp4`,
      mimeType: 'video/mp4',
    });
    return told;
  }
  return result(
    `The video of ${task.id} is still being made. Call get_video with this task_id later. ` +
      'Do not call generate_video for it with another request_id: that would be a second video.',
    task,
  );
}

function failedTask(task: VideoTask): CallToolResult {
  const refunded = task.credits_refunded;
  const charged = refunded > 0 ? `${refunded} credits were refunded` : 'nothing was charged';
  return result(
    `The video of ${task.id} failed (${task.error?.code}): ${task.error?.message} ` +
      `Charged: no, ${charged}. To try again, call generate_video with a new request_id.`,
    { ...task, charged: 'refunded', retry: 'new_key' },
  );
}

const NEXT = {
  same_key: 'Retry: yes, with the same request_id; it is never charged twice.',
  new_key: 'Retry: yes, with a new request_id.',
  never: 'Retry: no, change the request first.',
};
const CHARGED = {
  no: 'Charged: nothing.',
  reserved: 'Charged: the credits stay reserved until the end of the task.',
  refunded: 'Charged: nothing, the credits were refunded.',
};

/** A refused call as an error result; other errors are thrown. */
export function errorResult(error: unknown): CallToolResult {
  return Object.assign(refusal(error), { isError: true });
}

const NO_RESPONSE =
  'The service did not respond in time. It is not known whether the call took effect.';

function refusal(error: unknown): CallToolResult {
  if (error instanceof AddressError) {
    return result(error.message, { code: 'invalid_request', charged: 'no', retry: 'never' });
  }
  if (!(error instanceof FramewrightError)) throw error;
  const { code, charged, retry, requestId } = error;
  const message = error instanceof AbortError ? NO_RESPONSE : error.message;
  const texts = [message, charged && CHARGED[charged], retry && NEXT[retry]];
  return result(texts.filter(Boolean).join(' '), { code, message, charged, retry, requestId });
}
