/** A program: an upstream that responds at once, in the shapes that the gateways expect. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { serveRequests } from '../program.ts';

const CHAT = JSON.stringify({
  id: 'chatcmpl-1',
  object: 'chat.completion',
  created: 1,
  model: 'gpt-3.5-turbo',
  choices: [{ index: 0, message: { role: 'assistant', content: 'ok' }, finish_reason: 'stop' }],
  // The price of a request comes from these numbers.
  usage: { prompt_tokens: 1000, completion_tokens: 1000, total_tokens: 2000 },
});
const VIDEO = JSON.stringify({
  id: 'video_1',
  object: 'video',
  created_at: 1,
  model: 'sora-2',
  status: 'queued',
  progress: 0,
  seconds: '4',
  size: '720x1280',
});

serveRequests<object, object, string>(async () => {
  const server = createServer((request, response) => {
    request.resume().once('end', () => {
      const body = request.url?.includes('videos') ? VIDEO : CHAT;
      response.writeHead(200, {
        'content-type': 'application/json',
        'content-length': body.length,
      });
      response.end(body);
    });
  });
  server.keepAliveTimeout = 60_000;
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    handle: async () => `http://127.0.0.1:${port}`,
    close: async () => {
      server.closeAllConnections();
      server.close();
    },
  };
});
