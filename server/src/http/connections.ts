import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { FastifyInstance } from 'fastify';
import { errorEnvelope } from '../kernel/errors.ts';
import { newId } from '../kernel/ids.ts';
import { malformed } from '../requests/errors.ts';
import { createLingeringClose } from './lingering-close.ts';

interface Exchange {
  request: IncomingMessage;
  response: ServerResponse;
}

/**
 * How connections end. A client gets its response also if it still sends a body that nobody reads,
 * or sends more than its request.
 */
export function createConnections() {
  const lingering = createLingeringClose();
  /** The newest request of each connection, and its response. */
  const newest = new WeakMap<Socket, Exchange>();

  /** Responds with the envelope to bytes that are not an HTTP request. */
  function refuse(socket: Socket): void {
    socket.write(malformedResponse());
    lingering.close(socket);
  }

  /**
   * Ends a connection whose bytes are not an HTTP request. Where an earlier request still waits for
   * its response, the client would take the error for that response: it gets its own one instead.
   */
  function refuseBroken({ code }: { code?: string }, socket: Socket): void {
    if (lingering.isDiscarding(socket)) return;
    const last = newest.get(socket);
    if (code === 'ECONNRESET' || !socket.writable) socket.destroy();
    else if (!last || isOver(last)) refuse(socket);
    else if (last.request.complete) closeAfter(last.response, socket);
    else if (last.response.writableEnded)
      lingering.close(socket); // refused before its body broke
    // Node gives a response its socket when all earlier ones have been sent.
    else if (last.response.socket === null) socket.destroy();
    else refuse(socket);
  }

  function closeAfter(response: ServerResponse, socket: Socket): void {
    lingering.discard(socket);
    response.shouldKeepAlive = false;
    response.once('close', () => lingering.close(socket));
  }

  /** Takes over how the server ends its connections, and the CONNECTs, which Node would refuse. */
  function track(app: FastifyInstance): void {
    const { server } = app;
    server.on('connection', (socket: Socket) => {
      const close = socket.destroySoon.bind(socket);
      // Node calls it after a response with `Connection: close`.
      socket.destroySoon = () => {
        const isSending = newest.get(socket)?.request.complete === false;
        if (isSending || lingering.isDiscarding(socket)) lingering.close(socket);
        else close();
      };
    });
    server.on('request', (request, response) => {
      newest.set(request.socket, { request, response });
    });
    server.on('connect', (_request, socket: Socket) => refuseBroken({}, socket));
    app.addHook('preClose', async () => lingering.stop());
  }

  return { refuse, refuseBroken, track };
}

function isOver({ request, response }: Exchange): boolean {
  return request.complete && response.destroyed;
}

function malformedResponse(): string {
  const { code, message, details } = malformed();
  const body = JSON.stringify(errorEnvelope(code, message, details));
  return (
    'HTTP/1.1 400 Bad Request\r\nConnection: close\r\nCache-Control: no-store\r\n' +
    'X-Content-Type-Options: nosniff\r\n' +
    `X-Request-Id: ${newId('request')}\r\nContent-Type: application/json; charset=utf-8\r\n` +
    `Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`
  );
}
