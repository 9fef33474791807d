import type { Links } from '../../storage/links.ts';
import type { ListedTask } from '../../tasks/gallery/listed-tasks.ts';
import type { AsJson } from '../route.ts';
import { PHASE_LABELS, shownStatus } from './task-words.ts';

type Listed = Omit<ListedTask, 'position'>;

/** A task in the gallery. */
export type VideoItem = AsJson<ReturnType<typeof videoItem>>;

export function videoItem(task: Listed, links: Links) {
  const { request, phase, output_facts: facts, output_object_id: objectId } = task;
  const hasVideo = task.has_video && phase === 'completed' && objectId !== null;
  return {
    id: task.id,
    status: shownStatus(phase),
    // Processing, but it is not known what became of it.
    is_held: phase === 'held',
    // What happens to it now, in words.
    label: PHASE_LABELS[phase],
    prompt: request.prompt,
    model: request.model,
    mode: request.mode,
    resolution: request.resolution,
    aspect_ratio: task.aspect_ratio ?? request.aspect_ratio,
    // Seconds, as requested.
    duration: request.duration,
    surface: task.surface,
    api_key_id: task.api_key_id,
    credits_used: task.credits,
    credits_refunded: phase === 'failed' ? task.credits : 0,
    // Why there is no video.
    failed_because: task.error_message,
    created_at: task.created_at,
    updated_at: task.updated_at,
    // Of the video, in pixels.
    width: facts?.width ?? null,
    height: facts?.height ?? null,
    poster_url: task.has_poster ? `/console/api/tasks/${task.id}/poster` : null,
    // A signed link that expires; null: there is no video, or it was deleted.
    video_url: hasVideo ? links.linkTo(objectId, task.now_seconds) : null,
  };
}
