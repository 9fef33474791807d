import type { Mode, Model } from '../../catalog/models.ts';
import type { GenerationRequest } from '../../catalog/request.ts';
import type { Links } from '../../storage/links.ts';
import type { Phase, Task } from '../../tasks/task.ts';
import { adviceFor, CHARGES, HELD_WORDS, PHASE_LABELS, shownStatus } from '../tasks/task-words.ts';

/** A task as its own account sees it on the website, of any surface. */
export interface WebTask {
  id: string;
  surface: string;
  status: 'processing' | 'completed' | 'failed';
  phase: Phase;
  /** The phase in words. */
  phase_label: string;
  /** What it means that the task is held. */
  held: string | null;
  model: Model;
  mode: Mode;
  /** With its defaults filled in; null if its account's data was erased. */
  request: GenerationRequest | null;
  /** All kinds together. */
  credits: number;
  promotional_credits: number;
  /** What became of the credits. */
  payment: 'reserved' | 'charged' | 'refunded';
  /** Each read makes a new link. */
  video: { url: string; expires_at: string } | null;
  error: {
    code: string;
    message: string;
    details: Record<string, unknown> | null;
    /** What to do about it. */
    advice: string;
  } | null;
  created_at: string;
  updated_at: string;
  /** The time of this view, by the same clock. */
  now: string;
}

export function webTask(task: Task, links: Pick<Links, 'linkTo'>): WebTask {
  const { phase, request } = task;
  const status = shownStatus(phase);
  const { error_code: code, error_message: message, error_details: details } = task;
  return {
    id: task.id,
    surface: task.surface,
    status,
    phase,
    phase_label: PHASE_LABELS[phase],
    held: task.held_cause === null ? null : HELD_WORDS[task.held_cause],
    model: request.model,
    mode: request.mode,
    request: 'erased' in request ? null : request,
    credits: task.credits,
    promotional_credits: task.promotional_credits,
    payment: CHARGES[status],
    video: videoOf(task, links),
    error:
      code === null ? null : { code, message: message ?? '', details, advice: adviceFor(code) },
    created_at: task.created_at.toISOString(),
    updated_at: task.updated_at.toISOString(),
    now: new Date(task.now_seconds * 1000).toISOString(),
  };
}

function videoOf({ output_object_id: id, now_seconds }: Task, links: Pick<Links, 'linkTo'>) {
  if (id === null) return null;
  const url = links.linkTo(id, now_seconds);
  const expires = Number(new URL(url).searchParams.get('expires'));
  return { url, expires_at: new Date(expires * 1000).toISOString() };
}
