import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';

/**
 * Where a connection is cut: at the nth piece of data from the client, or at the server's response.
 * A share of that piece is still forwarded: from 0 to 1, less than 1 of a response.
 */
export type Cut = { at: 'request'; nth: number; share: number } | { at: 'response'; share: number };

/**
 * What the proxy knows about a request and its client can't: `uncut`; `unsent`, nothing of the cut
 * piece was forwarded, so the work is not done; `unknown`; `responded`, the work is done.
 */
export type CutOutcome = 'uncut' | 'unsent' | 'unknown' | 'responded';

export type CuttingProxy = Awaited<ReturnType<typeof openCuttingProxy>>;

/**
 * Opens a TCP proxy that cuts connections on command.
 * @param target its host and port, as in a URL
 * @param isDone whether a piece of data from the server says that the work is done and committed
 */
export async function openCuttingProxy(
  target: { hostname: string; port: string },
  isDone: (piece: Buffer) => boolean,
) {
  const sockets = new Set<Socket>();
  let pending: Cut | undefined;
  let outcome: CutOutcome = 'uncut';

  const cutRequest = (piece: Buffer): Buffer | undefined => {
    if (pending?.at !== 'request') return undefined;
    pending = { ...pending, nth: pending.nth - 1 };
    if (pending.nth > 0) return undefined;
    const part = piece.subarray(0, Math.floor(piece.length * pending.share));
    outcome = part.length === 0 ? 'unsent' : 'unknown';
    pending = undefined;
    return part;
  };
  const cutResponse = (piece: Buffer): Buffer | undefined => {
    if (pending?.at !== 'response' || !isDone(piece)) return undefined;
    const part = piece.subarray(0, Math.floor(piece.length * pending.share));
    outcome = 'responded';
    pending = undefined;
    return part;
  };
  const server = createServer((client) => {
    const upstream = connect({ host: target.hostname, port: Number(target.port), noDelay: true });
    for (const socket of [client, upstream]) keep(sockets, socket);
    relay({ from: client, to: upstream, cutPiece: cutRequest });
    relay({ from: upstream, to: client, cutPiece: cutResponse });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  return {
    port: typeof address === 'object' && address ? address.port : 0,
    /** Makes the next cut, once, on any connection. */
    cutNext(cut: Cut) {
      pending = cut;
      outcome = 'uncut';
    },
    /** Cancels a cut that has not happened. */
    endCut(): CutOutcome {
      pending = undefined;
      return outcome;
    },
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}

function keep(sockets: Set<Socket>, socket: Socket): void {
  sockets.add(socket);
  socket.once('close', () => sockets.delete(socket));
  socket.on('error', () => socket.destroy());
}

/**
 * Forwards data until a piece is cut: part of it is still forwarded, then both sides see the
 * connection end. The receiver has everything before the cut and may continue to work on it.
 */
function relay(ends: {
  from: Socket;
  to: Socket;
  cutPiece(piece: Buffer): Buffer | undefined;
}): void {
  const { from, to, cutPiece } = ends;
  const forward = (piece: Buffer) => {
    const part = cutPiece(piece);
    if (part === undefined) {
      to.write(piece);
      return;
    }
    from.off('data', forward);
    to.end(part);
    to.resume();
    from.destroy();
  };
  from.on('data', forward);
  from.once('close', () => to.end());
}

/** Whether these bytes end with Postgres's ReadyForQuery, outside of any transaction. */
export function isPostgresDone(piece: Buffer): boolean {
  return piece.subarray(-6).equals(Buffer.from('Z\0\0\0\x05I', 'latin1'));
}
