import { rename, writeFile } from 'node:fs/promises';
import { experimental_generateVideo as generateVideo } from 'ai';
import { makeOrders } from '../../../server/test/clients/make-orders.ts';
import { createFramewright } from '../src/index.ts';

await makeOrders((apiKey) => {
  const model = createFramewright({ apiKey }).video('video-2.0-mini');
  return async ({ key, file }) => {
    try {
      const { video } = await generateVideo({
        model,
        prompt: 'A paper boat',
        duration: 4,
        providerOptions: { framewright: { resolution: '480p' } },
        headers: { 'idempotency-key': key },
      });
      await writeFile(`${file}.part`, video.uint8Array);
      await rename(`${file}.part`, file);
    } catch (error) {
      process.stderr.write(`${key}: ${error instanceof Error ? error.message : error}\n`);
    }
  };
});
