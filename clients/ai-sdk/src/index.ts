import { NoSuchModelError, type ProviderV4 } from '@ai-sdk/provider';
import { Framewright, type FramewrightOptions } from '@framewright/client';
import { type ModelId, videoModel } from './video-model.ts';

/** Framewright has video models only. */
export interface FramewrightProvider extends ProviderV4 {
  video(modelId: ModelId): ReturnType<typeof videoModel>;
  /** The same, by the name that `createProviderRegistry` looks for. */
  videoModel(modelId: ModelId): ReturnType<typeof videoModel>;
}

/** A provider for the AI SDK: `framewright.video('video-2.0-fast')`. */
export function createFramewright(options: FramewrightOptions = {}): FramewrightProvider {
  let client: Framewright | undefined;
  const video = (modelId: ModelId) => {
    client ??= new Framewright(options); // one for all models: it remembers the keys that it sent
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

/** With the key and the address of the environment: FRAMEWRIGHT_API_KEY, FRAMEWRIGHT_BASE_URL. */
export const framewright: FramewrightProvider = createFramewright();
