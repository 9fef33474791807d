import type { GenerateRequest, VideoRequest } from '@framewright/client';
import { RefusedInput } from './results.ts';

/** A request as a model gives it: files are addresses. */
export type RequestInput = VideoRequest;

const UPLOAD_FIRST = 'Upload a file of the user first, if there is a tool for it.';

/**
 * The request with URL objects in its media fields: the client would read a text that is no
 * address as a path, and upload a file of the machine that this server runs on.
 * @throws RefusedInput
 */
export function addressesOnly(input: RequestInput): GenerateRequest {
  const { image_url, end_image_url, reference_image_urls, reference_video_urls, ...rest } = input;
  const request: GenerateRequest = rest;
  const fields = { image_url, end_image_url, reference_image_urls, reference_video_urls };
  for (const [field, value] of Object.entries(fields)) {
    const address = (text: string) => {
      if (URL.canParse(text)) return new URL(text);
      throw new RefusedInput(`Not sent: ${field} takes https addresses. ${UPLOAD_FIRST}`);
    };
    if (!value) continue;
    Object.assign(request, { [field]: Array.isArray(value) ? value.map(address) : address(value) });
  }
  return request;
}
