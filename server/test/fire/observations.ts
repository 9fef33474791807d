import type { ApiResponse } from '../client.ts';

/** What a response says about the task of its Idempotency-Key. */
type KeyMeaning =
  /** 200, 202, a held 503, a 400 after the reserve: the key is bound to this task for good. */
  | { kind: 'bound'; id: string; view: TaskView | undefined }
  /** 503 with a refund: the task has failed, and the key is released. */
  | { kind: 'released'; id: string }
  /** The response names no task. */
  | { kind: 'nothing' };

/** The fields of a task that never change again once it has ended. */
interface TaskView {
  id: string;
  status: string;
  credits_used: number;
  credits_refunded: number;
  error: { code: string } | null;
}

function meaningOf({ status, body }: ApiResponse): KeyMeaning {
  if (status === 200 || status === 202) return { kind: 'bound', id: body.id, view: viewOf(body) };
  const { task_id: id, credits } = body?.error?.details ?? {};
  if (id === undefined) return { kind: 'nothing' };
  if (status === 503 && credits === 'refunded') return { kind: 'released', id };
  return { kind: 'bound', id, view: undefined };
}

export function viewOf(body: TaskView): TaskView {
  const { id, status, credits_used, credits_refunded, error } = body;
  return { id, status, credits_used, credits_refunded, error };
}

/** The responses for one Idempotency-Key, and where one contradicts an earlier one. */
export interface KeyObservations {
  recordResponse(response: ApiResponse): KeyMeaning;
  /** Records a task as it was read. */
  recordView(view: TaskView): void;
  readonly taskId: string | undefined;
  readonly lastView: TaskView | undefined;
  readonly contradictions: string[];
}

export function observeKey(key: string): KeyObservations {
  const contradictions: string[] = [];
  const released = new Set<string>();
  let taskId: string | undefined;
  let lastView: TaskView | undefined;

  const bind = (id: string) => {
    if (released.has(id)) contradictions.push(`${key}: ${id} was refunded and is back`);
    if (taskId !== undefined && taskId !== id) {
      contradictions.push(`${key}: it meant ${taskId} and means ${id} now`);
    }
    taskId = id;
  };
  const release = (id: string) => {
    if (taskId !== undefined) contradictions.push(`${key}: ${id} is refunded, it meant ${taskId}`);
    released.add(id);
  };
  const recordView = (view: TaskView) => {
    const isFinal = lastView !== undefined && lastView.status !== 'processing';
    if (isFinal && JSON.stringify(lastView) !== JSON.stringify(view)) {
      contradictions.push(`${key}: ${JSON.stringify(lastView)} became ${JSON.stringify(view)}`);
    }
    lastView = view;
  };
  return {
    contradictions,
    recordView,
    recordResponse(response) {
      const meaning = meaningOf(response);
      if (meaning.kind === 'bound') bind(meaning.id);
      if (meaning.kind === 'bound' && meaning.view) recordView(meaning.view);
      if (meaning.kind === 'released') release(meaning.id);
      return meaning;
    },
    get taskId() {
      return taskId;
    },
    get lastView() {
      return lastView;
    },
  };
}
