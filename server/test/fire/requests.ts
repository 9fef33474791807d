import type { Random } from '../random.ts';
import type { MultiKeyCustomer } from './multi-key-customer.ts';

/** What each request costs: 4 s of the mini model in 480p. */
export const REQUEST_CREDITS = 60;

/** A prompt with this word makes a job that no list shows and no callback names. */
export const UNLISTED = 'unlisted';

/** Equal requests that share a prompt, each with a key of its own. */
const COPIES = 3;

/** One create that a client retries until it is confirmed. */
export interface ClientRequest {
  key: string;
  customer: MultiKeyCustomer;
  body: object;
  prompt: string;
  /** Whether no other request has this prompt. */
  isUnique: boolean;
}

/** Requests with and without a picture: some with equal bodies, some whose jobs are unlisted. */
export function makeRequests(
  count: number,
  {
    random,
    customers,
    imageUrl,
  }: { random: Random; customers: [MultiKeyCustomer, ...MultiKeyCustomer[]]; imageUrl: string },
): ClientRequest[] {
  const requests: ClientRequest[] = [];
  while (requests.length < count) {
    const name = crypto.randomUUID();
    const isUnlisted = requests.length % 25 === 5;
    const prompt = isUnlisted ? `An ${UNLISTED} clock, ${name}` : `A clock, ${name}`;
    const copies = !isUnlisted && random.chance(0.1) ? COPIES : 1;
    const body = bodyOf(prompt, random.chance(0.4) ? imageUrl : undefined);
    const customer = random.pick(customers);
    for (let copy = 0; copy < copies; copy += 1) {
      const key = `request-${crypto.randomUUID()}`;
      requests.push({ key, customer, body, prompt, isUnique: copies === 1 });
    }
  }
  return requests;
}

function bodyOf(prompt: string, imageUrl: string | undefined): object {
  return {
    model: 'video-2.0-mini',
    prompt,
    duration: 4,
    resolution: '480p',
    ...(imageUrl === undefined ? {} : { mode: 'image-to-video', image_url: imageUrl }),
    generate_audio: false,
  };
}
