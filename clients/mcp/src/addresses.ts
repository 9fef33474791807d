import type { GenerateRequest, VideoRequest } from '@framewright/client';

/** A request as a model gives it: files are addresses. */
export type RequestInput = VideoRequest;

/** A media field has no address. Nothing was sent. */
export class AddressError extends Error {
  constructor(field: string) {
    super(
      `${field} takes https addresses. Charged: nothing. Upload a file with upload_file first.`,
    );
    this.name = 'AddressError';
  }
}

/**
 * The request with URL objects in its media fields: the client would read a text that is no
 * address as a path, and upload a file of the machine that this server runs on.
 * @throws AddressError
 */
export function addressesOnly(input: RequestInput): GenerateRequest {
  const { image_url, end_image_url, reference_image_urls, reference_video_urls, ...rest } = input;
  const address = (field: string, text: string) => {
    if (!URL.canParse(text)) throw new AddressError(field);
    return new URL(text);
  };
  const request: GenerateRequest = rest;
  if (image_url) request.image_url = address('image_url', image_url);
  if (end_image_url) request.end_image_url = address('end_image_url', end_image_url);
  if (reference_image_urls) {
    request.reference_image_urls = reference_image_urls.map((text) =>
      address('reference_image_urls', text),
    );
  }
  if (reference_video_urls) {
    request.reference_video_urls = reference_video_urls.map((text) =>
      address('reference_video_urls', text),
    );
  }
  return request;
}
