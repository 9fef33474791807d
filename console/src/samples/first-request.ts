/** The request that the first page shows, in each language. */
export const FIRST_REQUEST = {
  prompt: 'A lighthouse at dawn, waves below',
  model: 'video-2.0-fast',
  resolution: '720p',
  duration: 5,
};

/** A key of the caller's own, with which the request may be sent again after a crash. */
export const FIRST_KEY = 'order-4711';
