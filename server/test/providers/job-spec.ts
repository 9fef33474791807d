import { parametersOf } from '../../src/catalog/request.ts';
import type { FindJobInput, JobSpec, ProviderInput } from '../../src/providers/provider.ts';
import { requestOf } from '../requests.ts';

/** A plain text-to-video job spec, with the changes that a test needs. */
export function jobSpec(changes: Partial<JobSpec> = {}): JobSpec {
  const request = requestOf({ resolution: '480p', generate_audio: false });
  return {
    ...parametersOf(request),
    attemptId: 'att_1',
    prompt: 'a lighthouse in the fog',
    aspect_ratio: '16:9',
    seed: 4_294_967_295,
    inputs: [],
    callbackUrl: 'https://video.example.com/callbacks/token-1',
    ...changes,
  };
}

/** An input whose link has this signature. */
export function input(
  role: ProviderInput['role'],
  objectId: string,
  signature = 'first',
): ProviderInput {
  const url = `https://video.example.com/media/${objectId}?signature=${signature}`;
  const mediaType = role === 'reference_video' ? 'video/mp4' : 'image/png';
  return { role, objectId, mediaType, url };
}

/** What the host passes to a find of an attempt whose submit took the second before `sentAt`. */
export function findInput(
  attempt: JobSpec,
  sentAt: number,
  takenJobIds: string[] = [],
): FindJobInput {
  return {
    jobSpec: attempt,
    sentBetween: { from: sentAt - 1000, to: sentAt },
    takenJobIds: async (ids) => new Set(ids.filter((id) => takenJobIds.includes(id))),
  };
}
