import type {
  Experimental_VideoModelV4CallOptions as CallOptions,
  SharedV4Warning,
  Experimental_VideoModelV4File as VideoFile,
} from '@ai-sdk/provider';
import type { GenerateRequest, Media, Model } from '@framewright/client';
import openapi from '../../../openapi.json' with { type: 'json' };

type Ratio = NonNullable<GenerateRequest['aspect_ratio']>;
type Resolution = NonNullable<GenerateRequest['resolution']>;

const { resolution, aspect_ratio } = openapi.components.schemas.VideoRequest.properties;
const RESOLUTIONS = resolution.enum as readonly Resolution[];
const RATIOS = aspect_ratio.enum as readonly Ratio[];

/** The short side in pixels, such as 720 for 720p. */
const linesOf = (name: Resolution) => (name === '4k' ? 2160 : Number.parseInt(name, 10));

/** The AI SDK's own default. */
const DEFAULT_TIMEOUT_MS = 600_000;

/**
 * Maps the AI SDK's options to a request, with a warning for each that a request can't express.
 * `providerOptions.framewright` overrides each field, and may set `pollTimeoutMs`, the deadline for
 * create, wait and download, as with other providers.
 */
export function requestOf(model: Model, options: CallOptions) {
  const size = sizeOf(options);
  const { fps, prompt = '', duration, seed, generateAudio } = options;
  const request: GenerateRequest = { prompt, model, ...mediaOf(options), ...size.fields };
  if (duration !== undefined) request.duration = duration;
  if (seed !== undefined) request.seed = seed;
  if (generateAudio !== undefined) request.generate_audio = generateAudio;
  const own = options.providerOptions.framewright ?? {};
  const { pollTimeoutMs = DEFAULT_TIMEOUT_MS, ...fields } = own;
  if (typeof pollTimeoutMs !== 'number') throw new TypeError('pollTimeoutMs must be a number');
  Object.assign(request, fields);
  if (fps !== undefined) size.warnings.unshift(warning('fps', 'The model chooses it.'));
  return { request, totalTimeoutMs: pollTimeoutMs, warnings: size.warnings };
}

function warning(feature: string, details: string): SharedV4Warning {
  return { type: 'unsupported', feature, details };
}

/** The aspect ratio and resolution; `1920x1080` sets both. */
function sizeOf({ aspectRatio, resolution }: CallOptions) {
  const fields: Pick<GenerateRequest, 'aspect_ratio' | 'resolution'> = {};
  const warnings: SharedV4Warning[] = [];
  const [width = 0, height = 0] = resolution?.split('x').map(Number) ?? [];
  const wanted = aspectRatio ?? (resolution && nearestRatio(width / height));
  const ratio = RATIOS.find((one) => one === wanted);
  if (ratio) fields.aspect_ratio = ratio;
  else if (wanted) warnings.push(warning('aspectRatio', `It is one of ${RATIOS.join(', ')}.`));
  const named = RESOLUTIONS.find((one) => linesOf(one) === Math.min(width, height));
  if (named) fields.resolution = named;
  else if (resolution) {
    const sides = new Intl.ListFormat('en-GB', { type: 'disjunction' });
    const known = sides.format(RESOLUTIONS.map((one) => String(linesOf(one))));
    warnings.push(warning('resolution', `Its short side is ${known}.`));
  }
  return { fields, warnings };
}

function nearestRatio(wanted: number): Ratio | undefined {
  const widthOf = (ratio: Ratio) => {
    const [width = 0, height = 0] = ratio.split(':').map(Number);
    return width / height;
  };
  return RATIOS.find((ratio) => Math.abs(widthOf(ratio) - wanted) < 0.02);
}

/** Frames and references. The AI SDK passes a first frame both as `image` and in `frameImages`. */
function mediaOf({ image, frameImages = [], inputReferences = [] }: CallOptions) {
  const fields: Partial<GenerateRequest> = {};
  const frame = (type: string) => frameImages.find(({ frameType }) => frameType === type)?.image;
  const [first, last] = [image ?? frame('first_frame'), frame('last_frame')];
  if (first) fields.image_url = mediaFrom(first);
  if (last) fields.end_image_url = mediaFrom(last);
  const [videos, images] = [true, false].map((wantsVideos) =>
    inputReferences.filter((file) => isVideo(file) === wantsVideos).map(mediaFrom),
  );
  if (images?.length) fields.reference_image_urls = images;
  if (videos?.length) fields.reference_video_urls = videos;
  if (inputReferences.length > 0) fields.mode = 'media-to-video';
  if (first || last) fields.mode = 'image-to-video';
  return fields;
}

const isVideo = (file: VideoFile) =>
  file.mediaType?.startsWith('video/') ??
  (file.type === 'url' && /\.(mp4|mov|webm|mkv)$/i.test(new URL(file.url).pathname));

function mediaFrom(file: VideoFile): Media {
  if (file.type === 'url') return new URL(file.url);
  const { data, mediaType: type } = file;
  const bytes = typeof data === 'string' ? bytesOf(data) : Uint8Array.from(data);
  return new Blob([bytes], { type });
}

const bytesOf = (base64: string) => Uint8Array.from(atob(base64), (char) => char.charCodeAt(0));
