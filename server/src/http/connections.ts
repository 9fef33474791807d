import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { errorEnvelope } from '../kernel/errors.ts';
import { newId } from '../kernel/ids.ts';
import { malformed } from '../requests/errors.ts';

interface Exchange {
  request: IncomingMessage;
  response: ServerResponse;
}

/**
 * Closes connections so that clients get their response even if they are still sending a body that
 * nobody reads, or bytes after their request.
 */
export function createHttpConnections() {
  const lingering = createLingeringClose();
  /** The latest request of each connection, and its response. */
  const newest = new WeakMap<Socket, Exchange>();

  /** Responds with an error envelope to bytes that are not an HTTP request, and closes. */
  function refuse(socket: Socket): void {
    socket.write(malformedResponse());
    lingering.close(socket);
  }

  /**
   * Refuses bytes that are not HTTP, and closes the connection. If an earlier request still awaits
   * its response, only that is sent: the client would mistake the refusal for it.
   */
  function refuseBroken({ code }: { code?: string }, socket: Socket): void {
    if (lingering.isDiscarding(socket)) return;
    const last = newest.get(socket);
    if (code === 'ECONNRESET' || !socket.writable) socket.destroy();
    else if (!last || isOver(last)) refuse(socket);
    else if (last.request.complete) closeAfter(last.response, socket);
    else if (last.response.writableEnded)
      lingering.close(socket); // it was refused before its body broke
    // Node assigns the socket to a response once all earlier responses have been sent.
    else if (last.response.socket === null) socket.destroy();
    else refuse(socket);
  }

  function closeAfter(response: ServerResponse, socket: Socket): void {
    lingering.discard(socket);
    response.shouldKeepAlive = false;
    response.once('close', () => lingering.close(socket));
  }

  /** Takes over closing connections, and CONNECT requests, which Node would refuse itself. */
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

/** What a client may still send after its last response, and for how long. */
const LINGER = { bytes: 256 * 2 ** 20, seconds: 30 };

/**
 * Closes connections whose clients may still be sending. Closing with unread bytes makes TCP send a
 * reset, and a client that sends before it reads would lose the response. So the service
 * half-closes the connection and keeps reading for a while (RFC 9112, section 9.6).
 */
export function createLingeringClose({ bytes, seconds } = LINGER) {
  const discarding = new Set<Socket>();

  /** Drops everything that still arrives. */
  function discard(socket: Socket): void {
    if (discarding.has(socket)) return;
    discarding.add(socket);
    socket.on('error', () => {}); // after a CONNECT, there is no listener
    socket.once('close', () => discarding.delete(socket));
    // While the HTTP parser owns the socket, only its listener can resume reading.
    if (socket.isPaused()) socket.once('resume', () => takeOver(socket)).resume();
    else takeOver(socket);
  }

  function takeOver(socket: Socket): void {
    let left = bytes;
    socket.removeAllListeners('data'); // the HTTP parser's
    socket.on('data', ({ length }) => {
      left -= length;
      if (left < 0) socket.destroy();
    });
  }

  return {
    discard,
    isDiscarding: (socket: Socket) => discarding.has(socket),
    /** Half-closes a connection; closes it when the client does, or when the time is up. */
    close(socket: Socket): void {
      discard(socket);
      const timer = setTimeout(() => socket.destroy(), seconds * 1000);
      socket.once('close', () => clearTimeout(timer)).end();
    },
    /** Closes every connection whose last response has been sent. */
    stop(): void {
      for (const socket of discarding) if (socket.writableFinished) socket.destroy();
    },
  };
}

const BODY_SECONDS = 60;

/** The longest body time a route may set: Node ends every request that takes longer. */
export const MAX_BODY_SECONDS = 900;

declare module 'fastify' {
  interface FastifyContextConfig {
    /** How long this route's body may take to arrive; a minute by default. */
    bodySeconds?: number;
  }
}

/**
 * Ends requests whose body takes longer than their route allows: Node has one limit for all routes.
 * @param refuse responds and closes the connection. Not called while an earlier request of the
 *   connection awaits its response: the client would mistake the refusal for that response.
 */
export function limitBodyTime(app: FastifyInstance, refuse: (socket: Socket) => void): void {
  app.addHook('onRequest', (request, reply, done) => {
    if (hasBody(request)) limitTime(request, reply, refuse);
    done();
  });
}

function hasBody({ headers }: FastifyRequest): boolean {
  return Number(headers['content-length'] ?? 0) > 0 || 'transfer-encoding' in headers;
}

function limitTime(
  { raw, routeOptions }: FastifyRequest,
  reply: FastifyReply,
  refuse: (socket: Socket) => void,
): void {
  const { bodySeconds = BODY_SECONDS } = routeOptions.config;
  const timer = setTimeout(() => {
    // Node assigns the socket to a response once all earlier responses have been sent.
    if (!raw.complete && reply.raw.socket) refuse(raw.socket);
    else raw.destroy();
  }, bodySeconds * 1000);
  const stop = () => clearTimeout(timer);
  raw.once('end', stop).once('close', stop);
  reply.raw.once('finish', stop).once('close', stop);
}
