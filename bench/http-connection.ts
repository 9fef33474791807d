import { once } from 'node:events';
import { connect } from 'node:net';

/**
 * One keep-alive connection that uses little CPU time, since the clients share the cores with what is
 * measured: one request at a time, and only responses with a content-length, or in chunks.
 */
export interface HttpConnection {
  /** Sends a whole request and resolves with the status once the whole response has arrived. */
  send(request: string): Promise<number>;
  close(): void;
}

const HEAD_END = '\r\n\r\n';

export async function openHttpConnection(url: URL): Promise<HttpConnection> {
  const socket = connect({ host: url.hostname, port: Number(url.port), noDelay: true });
  await once(socket, 'connect');
  let received = '';
  let waiting: PromiseWithResolvers<number> | undefined;
  const fail = (error: Error) => waiting?.reject(error);
  socket
    .on('error', fail)
    .once('close', () => fail(new Error('the service closed the connection')));
  socket.setEncoding('latin1').on('data', (text: string) => {
    received += text;
    const status = statusOfWhole(received);
    if (status === undefined) return;
    received = '';
    waiting?.resolve(status);
  });
  return {
    async send(request) {
      if (socket.destroyed) throw new Error('the service closed the connection between requests');
      waiting = Promise.withResolvers<number>();
      socket.write(request);
      return waiting.promise;
    },
    close: () => socket.destroy(),
  };
}

/** undefined until the whole response has arrived. */
function statusOfWhole(response: string): number | undefined {
  const headEnd = response.indexOf(HEAD_END);
  if (headEnd < 0) return undefined;
  const length = /\r\ncontent-length: *(\d+)/i.exec(response)?.[1];
  if (length === undefined) {
    if (!/\r\ntransfer-encoding: *chunked/i.test(response.slice(0, headEnd))) {
      throw new Error('a response without content-length');
    }
    return response.endsWith('\r\n0\r\n\r\n') ? statusOf(response) : undefined;
  }
  if (response.length < headEnd + HEAD_END.length + Number(length)) return undefined;
  return statusOf(response);
}

function statusOf(response: string): number {
  return Number(response.slice(9, 12)); // after "HTTP/1.1 "
}
