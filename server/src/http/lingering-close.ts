import type { Socket } from 'node:net';

/** What a client may still send after its last response, and for how long. */
const LINGER = { bytes: 256 * 2 ** 20, seconds: 30 };

/**
 * Closes connections whose clients may still be sending. If a connection is closed with bytes that
 * nobody has read, TCP resets it, and a client that reads after it has sent loses the response. So
 * the service half-closes it, and reads on for a while (RFC 9112, section 9.6).
 */
export function createLingeringClose({ bytes, seconds } = LINGER) {
  const discarding = new Set<Socket>();

  /** Drops what arrives from now on: it is no request. */
  function discard(socket: Socket): void {
    if (discarding.has(socket)) return;
    discarding.add(socket);
    socket.on('error', () => {}); // after a CONNECT, there is no listener
    socket.once('close', () => discarding.delete(socket));
    // While the HTTP parser has the socket, only its listener can begin to read again.
    if (socket.isPaused()) socket.once('resume', () => takeOver(socket)).resume();
    else takeOver(socket);
  }

  function takeOver(socket: Socket): void {
    let left = bytes;
    socket.removeAllListeners('data'); // of the HTTP parser
    socket.on('data', ({ length }) => {
      left -= length;
      if (left < 0) socket.destroy();
    });
  }

  return {
    discard,
    isDiscarding: (socket: Socket) => discarding.has(socket),
    /** Half-closes a connection, and closes it when the client has, or has had its time. */
    close(socket: Socket): void {
      discard(socket);
      const timer = setTimeout(() => socket.destroy(), seconds * 1000);
      socket.once('close', () => clearTimeout(timer)).end();
    },
    /** Closes at once all connections whose last response is sent. */
    stop(): void {
      for (const socket of discarding) if (socket.writableFinished) socket.destroy();
    },
  };
}
