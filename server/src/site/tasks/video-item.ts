import type { Mode, Model } from '../../catalog/models.ts';
import type { GenerationRequest } from '../../catalog/request.ts';
import type { Links } from '../../storage/links.ts';
import type { ListedTask } from '../../tasks/gallery/listed-tasks.ts';
import { PHASE_LABELS, shownStatus } from './task-words.ts';

/** A task in the gallery. Times are ISO 8601. */
export interface VideoItem {
  id: string;
  status: 'processing' | 'completed' | 'failed';
  /** Processing, but it is not known what became of it. */
  is_held: boolean;
  /** What happens to it now, in words. */
  label: string;
  prompt: string;
  model: Model;
  mode: Mode;
  resolution: GenerationRequest['resolution'];
  aspect_ratio: GenerationRequest['aspect_ratio'];
  /** Seconds, as requested. */
  duration: number;
  surface: string;
  api_key_id: string | null;
  credits_used: number;
  credits_refunded: number;
  /** Why there is no video. */
  failed_because: string | null;
  created_at: string;
  updated_at: string;
  is_archived: boolean;
  /** Of the video, in pixels. */
  width: number | null;
  height: number | null;
  poster_url: string | null;
  /** A signed link that expires; null: there is no video, or it was deleted. */
  video_url: string | null;
}

/** The response of GET /console/api/tasks. */
export interface VideoList {
  items: VideoItem[];
  next: string | null;
}

type Listed = Omit<ListedTask, 'position'>;

export function videoItem(task: Listed, links: Links): VideoItem {
  const { request, phase, output_facts: facts, output_object_id: objectId } = task;
  const hasVideo = task.has_video && phase === 'completed' && objectId !== null;
  return {
    id: task.id,
    status: shownStatus(phase),
    is_held: phase === 'held',
    label: PHASE_LABELS[phase],
    prompt: request.prompt,
    model: request.model,
    mode: request.mode,
    resolution: request.resolution,
    aspect_ratio: task.aspect_ratio ?? request.aspect_ratio,
    duration: request.duration,
    surface: task.surface,
    api_key_id: task.api_key_id,
    credits_used: task.credits,
    credits_refunded: phase === 'failed' ? task.credits : 0,
    failed_because: task.error_message,
    created_at: task.created_at.toISOString(),
    updated_at: task.updated_at.toISOString(),
    is_archived: task.is_archived,
    width: facts?.width ?? null,
    height: facts?.height ?? null,
    poster_url: task.has_poster ? `/console/api/tasks/${task.id}/poster` : null,
    video_url: hasVideo ? links.linkTo(objectId, task.now_seconds) : null,
  };
}
