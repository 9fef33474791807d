/**
 * The seconds between hashed frames. A stored output has one hash a second, since often only its
 * keyframes are decoded; a video to compare with it has four.
 */
export const HASH_SECONDS = { stored: 1, compared: 0.25 };
/** Which of these a video is. */
export type HashUse = keyof typeof HASH_SECONDS;
export const MAX_COMPARED_SECONDS = 30;
export const MAX_HASHES = MAX_COMPARED_SECONDS / HASH_SECONDS.compared;

/**
 * The last frame counts for at most this long, which is more than a reference video may last, so a
 * false claim still makes the video too long.
 */
const LAST_FRAME_SECONDS = 60;

/** Collects the times of frames or packets, in seconds of the stream's clock. */
export function createTimeline() {
  let count = 0;
  let first = 0;
  let last = { shownAt: 0, durationSeconds: 0 };
  /** From the start of the first frame to the start of the last one. */
  const spanSeconds = () => last.shownAt - first;
  return {
    spanSeconds,
    /**
     * @param shownAt null: it follows the last one
     * @param durationSeconds null: unknown
     */
    add(shownAt: number | null, durationSeconds: number | null): void {
      const at = shownAt ?? last.shownAt + last.durationSeconds;
      first = count === 0 ? at : Math.min(first, at);
      if (count === 0 || at >= last.shownAt) {
        last = { shownAt: at, durationSeconds: durationSeconds ?? 0 };
      }
      count += 1;
    },
    /** From the start of the first frame to the end of the last one; 0 without frames. */
    durationSeconds() {
      const usual = count > 1 ? spanSeconds() / (count - 1) : 0;
      const claimed = last.durationSeconds > 0 ? last.durationSeconds : usual;
      return spanSeconds() + Math.min(claimed, LAST_FRAME_SECONDS);
    },
    frames: () => count,
  };
}
