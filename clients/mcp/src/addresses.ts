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
  const request: GenerateRequest = rest;
  const fields = { image_url, end_image_url, reference_image_urls, reference_video_urls };
  for (const [field, value] of Object.entries(fields)) {
    const address = (text: string) => {
      if (!URL.canParse(text)) throw new AddressError(field);
      return new URL(text);
    };
    if (!value) continue;
    Object.assign(request, { [field]: Array.isArray(value) ? value.map(address) : address(value) });
  }
  return request;
}
