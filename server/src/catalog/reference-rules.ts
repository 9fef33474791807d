import type { BrokenRule, VideoFacts, VideoRules } from '../media/measurement.ts';
import { REFERENCE_SECONDS, SHORT_SIDE } from './limits.ts';

/**
 * Breaking one of these rules ends the decoding early. Seconds are rounded before they are compared
 * (C11), so a video that lasts half a second more than declared, or than a reference may last, is
 * too long.
 * @param declaredSeconds null if they are not known
 */
export function referenceRules(declaredSeconds: number | null): VideoRules {
  const wholeSeconds = Math.min(declaredSeconds ?? Infinity, REFERENCE_SECONDS.max);
  return { shortSide: SHORT_SIDE, belowSeconds: wholeSeconds + 0.5 };
}

export interface ReferenceProblem {
  reason: 'short_side_out_of_range' | 'duration_out_of_range';
  message: string;
  details: Record<string, unknown>;
}

export function shortSideProblem({
  width,
  height,
}: Pick<VideoFacts, 'width' | 'height'>): ReferenceProblem | undefined {
  const shortSide = Math.min(width, height);
  if (shortSide >= SHORT_SIDE.min && shortSide <= SHORT_SIDE.max) return undefined;
  const message = `the short side must be ${SHORT_SIDE.min} to ${SHORT_SIDE.max} pixels.`;
  return { reason: 'short_side_out_of_range', message, details: { width, height } };
}

export function lengthProblem(durationSeconds: number): ReferenceProblem | undefined {
  const { min, max } = REFERENCE_SECONDS;
  const measured = Math.round(durationSeconds);
  if (measured >= min && measured <= max) return undefined;
  const message = `a reference video must last ${min} to ${max} seconds.`;
  const details = { measured_seconds: measured, measured_seconds_exact: durationSeconds };
  return { reason: 'duration_out_of_range', message, details };
}

/** The first rule that a measured video breaks, or that ended its decoding. */
export function referenceProblem(seen: VideoFacts | BrokenRule): ReferenceProblem | undefined {
  const size = 'width' in seen ? shortSideProblem(seen) : undefined;
  return size ?? ('durationSeconds' in seen ? lengthProblem(seen.durationSeconds) : undefined);
}
