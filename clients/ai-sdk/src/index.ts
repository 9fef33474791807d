import { NoSuchModelError, type ProviderV4 } from '@ai-sdk/provider';
import { Framewright, type FramewrightOptions, type Model } from '@framewright/client';
import { videoModel } from './video-model.ts';

/** A provider of video models for the AI SDK. */
export interface FramewrightProvider extends ProviderV4 {
  video(modelId: Model): ReturnType<typeof videoModel>;
  /** Alias of `video`, for `createProviderRegistry`. */
  videoModel(modelId: Model): ReturnType<typeof videoModel>;
}

/** A provider for the AI SDK: `framewright.video('video-2.0-fast')`. */
export function createFramewright(options: FramewrightOptions = {}): FramewrightProvider {
  let client: Framewright | undefined;
  const video = (modelId: Model) => {
    client ??= new Framewright(options); // for all models: it remembers the Idempotency-Keys it sent
    return videoModel(modelId, client);
  };
  const none = (modelType: 'languageModel' | 'embeddingModel' | 'imageModel') => {
    return (modelId: string): never => {
      throw new NoSuchModelError({ modelId, modelType });
    };
  };
  return {
    specificationVersion: 'v4',
    video,
    videoModel: video,
    languageModel: none('languageModel'),
    embeddingModel: none('embeddingModel'),
    imageModel: none('imageModel'),
  };
}

/** The default provider, configured by FRAMEWRIGHT_API_KEY and FRAMEWRIGHT_BASE_URL. */
export const framewright: FramewrightProvider = createFramewright();
