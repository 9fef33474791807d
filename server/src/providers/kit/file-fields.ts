import type { JobSpec, ProviderInput } from '../provider.ts';

/** The provider's names of the fields that take links to files. */
export interface FileFields {
  firstFrame: string;
  lastFrame: string;
  referenceImages: string;
  referenceVideos: string;
}

/** The links to a job spec's files in the provider's fields; a field without a file is left out. */
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
