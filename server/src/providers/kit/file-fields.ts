import type { JobSpec, ProviderInput } from '../provider.ts';

/** What a provider calls the fields that take links to a job spec's files. */
export interface FileFields {
  firstFrame: string;
  lastFrame: string;
  referenceImages: string;
  referenceVideos: string;
}

/** Links to a job spec's files by the provider's names; a field without a file is left out. */
export function fileFields({ mode, inputs }: JobSpec, names: FileFields): Record<string, unknown> {
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
      return { [names.firstFrame]: firstFrame, ...(lastFrame && { [names.lastFrame]: lastFrame }) };
    case 'media-to-video':
      return {
        ...(images.length > 0 && { [names.referenceImages]: images }),
        ...(videos.length > 0 && { [names.referenceVideos]: videos }),
      };
  }
}
