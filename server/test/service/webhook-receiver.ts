import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** What a receiver of webhooks got in one POST. */
export interface ReceivedEvent {
  id: string;
  type: string;
  taskId: string | undefined;
  headers: IncomingHttpHeaders;
  body: string;
}

/**
 * A customer's server for webhooks, on the loopback.
 * @param respond sends the response to a POST; 204 when not given
 */
export async function startWebhookReceiver(
  respond: (response: ServerResponse, event: ReceivedEvent) => unknown = (response) =>
    response.writeHead(204).end(),
) {
  const received: ReceivedEvent[] = [];
  const server = createServer(async (request, response) => {
    let body = '';
    for await (const chunk of request) body += chunk;
    const { type, data } = JSON.parse(body);
    const { headers } = request;
    const event = { id: String(headers['webhook-id']), type, taskId: data?.id, headers, body };
    received.push(event);
    respond(response, event);
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    /** Its `host:port`, for OUTBOUND_ALLOW. */
    host,
    url: `http://${host}/hook`,
    /** In the order of their arrival; an event that came twice is there twice. */
    received,
    async close() {
      server.closeAllConnections();
      server.close();
    },
  };
}
