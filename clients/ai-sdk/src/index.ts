import { Framewright, type FramewrightOptions } from '@framewright/client';
import { type ModelId, videoModel } from './video-model.ts';

/** The models of Framewright. */
export interface FramewrightProvider {
  video(modelId: ModelId): ReturnType<typeof videoModel>;
}

/** A provider for the AI SDK: `framewright.video('video-2.0-fast')`. */
export function createFramewright(options: FramewrightOptions = {}): FramewrightProvider {
  return {
    video: (modelId: ModelId) => {
      const once = new Framewright({ ...options, maxRetries: 0 });
      return videoModel(modelId, { once, patient: new Framewright(options) });
    },
  };
}

/** With the key and the address of the environment: FRAMEWRIGHT_API_KEY, FRAMEWRIGHT_BASE_URL. */
export const framewright: FramewrightProvider = createFramewright();
