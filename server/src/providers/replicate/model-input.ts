import type { ProviderInput, Submission } from '../provider.ts';

/** `owner/name` of each official model; null where Replicate offers none. */
export type ReplicateModels = Record<Submission['model'], string | null>;

/** Source: replicate.com/bytedance; a mini is not among the models there. */
export const REPLICATE_MODELS: ReplicateModels = {
  'video-2.0': 'bytedance/seedance-2.0',
  'video-2.0-fast': 'bytedance/seedance-2.0-fast',
  'video-2.0-mini': null,
};

/**
 * The `input` of a prediction. The aspect ratio is resolved before it gets here, so `adaptive` is
 * never sent. Source: replicate.com/bytedance/seedance-2.0, input schema.
 */
export function modelInput(submission: Submission): Record<string, unknown> {
  return {
    prompt: submission.prompt,
    aspect_ratio: submission.aspectRatio,
    resolution: submission.resolution,
    duration: submission.durationSeconds,
    generate_audio: submission.generateAudio,
    seed: submission.seed,
    ...mediaOf(submission),
  };
}

function mediaOf({ mode, inputs }: Submission): Record<string, unknown> {
  const urls = (role: ProviderInput['role']) =>
    inputs.filter((input) => input.role === role).map(({ url }) => url);
  const [firstFrame] = urls('first_frame');
  const [lastFrame] = urls('last_frame');
  const images = urls('reference_image');
  const videos = urls('reference_video');
  switch (mode) {
    case 'text-to-video':
      return {};
    case 'image-to-video':
      return { image: firstFrame, ...(lastFrame ? { last_frame_image: lastFrame } : {}) };
    case 'media-to-video':
      return {
        ...(images.length > 0 ? { reference_images: images } : {}),
        ...(videos.length > 0 ? { reference_videos: videos } : {}),
      };
  }
}
