/**
 * Caps the stated duration of the last frame. It is longer than a reference video may last, so a
 * false duration of hours still fails.
 */
const LAST_FRAME_SECONDS = 60;

/** Collects the times of frames or packets, in seconds of the stream's clock. */
export interface Timeline {
  /**
   * @param shownAt null when the stream has no time for the frame: it follows the last one
   * @param durationSeconds null when the stream does not state it
   */
  add(shownAt: number | null, durationSeconds: number | null): void;
  /** From the start of the first frame to the start of the last one. */
  spanSeconds(): number;
  /** From the start of the first frame to the end of the last one; 0 without frames. */
  durationSeconds(): number;
  frames(): number;
}

export function createTimeline(): Timeline {
  let count = 0;
  let first = 0;
  let last = { shownAt: 0, durationSeconds: 0 };
  return {
    add(shownAt, durationSeconds) {
      const at = shownAt ?? last.shownAt + last.durationSeconds;
      first = count === 0 ? at : Math.min(first, at);
      if (count === 0 || at >= last.shownAt) {
        last = { shownAt: at, durationSeconds: durationSeconds ?? 0 };
      }
      count += 1;
    },
    spanSeconds: () => last.shownAt - first,
    durationSeconds() {
      const span = last.shownAt - first;
      const usual = count > 1 ? span / (count - 1) : 0;
      const claimed = last.durationSeconds > 0 ? last.durationSeconds : usual;
      return span + Math.min(claimed, LAST_FRAME_SECONDS);
    },
    frames: () => count,
  };
}
