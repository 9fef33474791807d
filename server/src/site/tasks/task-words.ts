import type { FailureCode, Phase, Task } from '../../tasks/task.ts';

/** The pages' names for phases. */
export const PHASE_LABELS: Record<Phase, string> = {
  reserved: 'Waiting to start',
  ingesting: 'Copying your media',
  submitting: 'Submitting',
  review: 'Being reviewed',
  generating: 'Generating',
  archiving: 'Saving the video',
  held: 'Being checked',
  completed: 'Completed',
  failed: 'Failed',
};

/** What happened to a task's credits, by status. */
export const CHARGES = {
  processing: 'reserved',
  completed: 'charged',
  failed: 'refunded',
} as const;

export function shownStatus(phase: Phase): keyof typeof CHARGES {
  return phase === 'completed' || phase === 'failed' ? phase : 'processing';
}

const HELD_END =
  'Until it is known, nothing is sent again and the credits stay reserved. Then the video is ' +
  'completed, or it fails and is refunded. This may take hours. If you run the request again ' +
  'meanwhile, you may pay for two videos.';

/** What a held task means for the customer. */
export const HELD_WORDS: Record<NonNullable<Task['held_cause']>, string> = {
  acceptance:
    'The connection broke while the request was sent to the provider, so it is not known yet ' +
    `whether the provider accepted it. ${HELD_END}`,
  outcome:
    'The provider accepted the request, but it is not known yet what became of it. ' +
    `The provider is asked again from time to time. ${HELD_END}`,
};

const SAME = 'You can run the same request again.';
const LATER = 'You can run the same request again later.';

/** What to do about each failure (docs/customers/ERRORS.md). */
const ADVICE: Record<Exclude<FailureCode, 'cancelled'>, string> = {
  invalid_media:
    'Run it again with another file, or with the same one if its host was only down for a while.',
  content_refused: 'Run it again with another prompt or other files.',
  invalid_request:
    'The provider does not support this combination. Run it again with other settings.',
  provider_unavailable: LATER,
  not_accepted: SAME,
  provider_failed: SAME,
  generation_expired: SAME,
  output_unavailable: SAME,
};

const CANCELLED = {
  customer: `You cancelled it. ${SAME}`,
  operator: 'The operator of this service cancelled it. Ask them before you run it again.',
};
const CANCELLED_BY_SOMEBODY =
  'You or the operator of this service cancelled it. If it was not you, ask them before you run ' +
  'it again.';

/** What to do about a failure, including codes that only a newer process knows. */
export function adviceFor(code: string, cancelledBy?: keyof typeof CANCELLED): string {
  if (code === 'cancelled') return cancelledBy ? CANCELLED[cancelledBy] : CANCELLED_BY_SOMEBODY;
  return code in ADVICE ? ADVICE[code as keyof typeof ADVICE] : LATER;
}
