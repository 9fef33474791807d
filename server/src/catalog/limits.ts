// The bounds of a request's fields and of its media (docs/customers/limits.md). Both ends are included.

export const PROMPT_CHARACTERS = { min: 3, max: 4000 };
/** The longest address of a file. */
export const URL_CHARACTERS = 2048;
/** Whole seconds of an output. */
export const DURATION_SECONDS = { min: 4, max: 15 };

export const REFERENCE_IMAGES = 8;
export const REFERENCE_VIDEOS = 3;
/** Whole seconds of a reference video. */
export const REFERENCE_SECONDS = { min: 2, max: 15 };
export const TOTAL_REFERENCE_SECONDS = 15; // of all reference videos of a request
/** A reference video's short side in pixels. */
export const SHORT_SIDE = { min: 480, max: 720 };
/** All input media of a request together: 256 MB (C11). */
export const INPUT_BYTES = 268_435_456;
