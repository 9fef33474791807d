import { frameSize } from '../../catalog/frame-size.ts';
import { type FieldTable, requestFields } from '../kit/request-fields.ts';
import type { JobSpec } from '../provider.ts';
import { promptIdOf } from './prompt-id.ts';

/** The fields of a request are placeholders; a template decides which of them it uses. */
export const COMFYUI_FIELDS: FieldTable = {
  prompt: { as: 'prompt' },
  seed: { as: 'seed', note: 'a template without it runs with a seed of its own' },
  aspect_ratio: {
    as: 'aspect_ratio',
    note: 'after `adaptive` is resolved; `{{width}}` and `{{height}}` follow from it',
  },
  resolution: {
    as: 'resolution',
    note:
      '`{{width}}` and `{{height}}` follow from it. 1080p and 4k are more than most machines can ' +
      'do: an error there fails and refunds the task',
  },
  duration: { as: 'duration_seconds', note: '`{{frames}}` follows from it' },
  generate_audio: { as: 'generate_audio', note: 'a template without it decides by itself' },
  model: {
    as: 'model',
    note: "a template without it runs for every model, at that model's price",
  },
  mode: { as: 'mode' },
  image_url: { by: '`{{first_frame}}`' },
  end_image_url: {
    by: '`{{last_frame}}`: if no template takes it, such a request gets 503, with an alert',
  },
  reference_image_urls: { by: '`{{reference_image_1}}` to `{{reference_image_8}}`' },
  reference_video_urls: { by: '`{{reference_video_1}}` to `{{reference_video_3}}`' },
  reference_video_durations: { notSent: 'only the price depends on it' },
};

/** How the operator's model counts frames. */
export interface FrameRules {
  /** Frames per second of the video that the workflow saves. */
  framesPerSecond: number;
  /** The model makes lengths of `step * n + 1` frames: 4 for Wan, 8 for LTX; 1: any length. */
  frameStep: number;
}

/** The names of all placeholders that are not files. */
export const PLACEHOLDERS: readonly string[] = [
  ...Object.values(COMFYUI_FIELDS).flatMap((mapping) => ('as' in mapping ? mapping.as : [])),
  'width',
  'height',
  'frames',
  'frames_per_second',
  'job_id',
];

export function plainValues(jobSpec: JobSpec, rules: FrameRules): Record<string, unknown> {
  return {
    ...requestFields(COMFYUI_FIELDS, jobSpec),
    ...frameSize(jobSpec.resolution, jobSpec.aspect_ratio),
    frames: frameCount(jobSpec.duration, rules),
    frames_per_second: rules.framesPerSecond,
    job_id: promptIdOf(jobSpec.attemptId),
  };
}

/** The shortest length of the model that is not shorter than requested. */
function frameCount(durationSeconds: number, rules: FrameRules): number {
  const frames = Math.ceil(durationSeconds * rules.framesPerSecond);
  const { frameStep } = rules;
  return frameStep === 1 ? frames : Math.ceil((frames - 1) / frameStep) * frameStep + 1;
}
