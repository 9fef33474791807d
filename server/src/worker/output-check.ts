import { frameSize } from '../catalog/frame-size.ts';
import type { AspectRatio, Resolution } from '../catalog/models.ts';
import type { MediaFacts } from '../media/measure.ts';

/** The video that a request asks for. */
export interface Expectation {
  resolution: Resolution;
  aspectRatio: AspectRatio;
  durationSeconds: number;
  audio: boolean;
}

/** Half a frame at 24 frames a second. */
const DURATION_TOLERANCE_SECONDS = 1 / 48;

/** Each difference between the video and the request as one short sentence; empty if none. */
export function outputDifferences(asked: Expectation, facts: MediaFacts): string[] {
  if (facts.kind !== 'video') return ['it is not a video'];
  const size = frameSize(asked.resolution, asked.aspectRatio);
  const differences: string[] = [];
  if (size.width !== facts.width || size.height !== facts.height) {
    differences.push(
      `asked for ${size.width}x${size.height}, got ${facts.width}x${facts.height} pixels`,
    );
  }
  if (Math.abs(facts.durationSeconds - asked.durationSeconds) > DURATION_TOLERANCE_SECONDS) {
    differences.push(`asked for ${asked.durationSeconds} s, got ${facts.durationSeconds} s`);
  }
  if (asked.audio !== (facts.audio !== null)) {
    differences.push(
      asked.audio ? 'the audio track is missing' : 'it has an audio track that was not requested',
    );
  }
  return differences;
}
