import { makeOrders } from '../../../server/test/clients/make-orders.ts';
import { Framewright, FramewrightError } from '../src/index.ts';

const REQUEST = {
  prompt: 'A paper boat',
  model: 'video-2.0-mini',
  resolution: '480p',
  duration: 4,
} as const;

await makeOrders((apiKey) => {
  const client = new Framewright({ apiKey });
  return async ({ key: idempotencyKey, file }) => {
    try {
      const video = await client.generate(REQUEST, { idempotencyKey });
      await video.download(file);
    } catch (error) {
      if (!(error instanceof FramewrightError) || error.retry !== 'same_key') throw error;
    }
  };
});
