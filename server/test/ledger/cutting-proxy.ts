import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';

/**
 * Where a connection is cut: at the nth piece that the client sends, or when the server's answer is
 * there. Of that piece a share still gets through: 0 to 1, of an answer less than 1.
 */
export type Cut = { at: 'request'; nth: number; share: number } | { at: 'response'; share: number };

/** What the proxy knows of a cut that the client can't. unsent: nothing that counts left. */
export type CutOutcome = 'uncut' | 'unsent' | 'unknown' | 'responded';

/** A TCP proxy that cuts connections on command. */
export interface CuttingProxy extends AsyncDisposable {
  port: number;
  /** Lets the next pieces of any connection meet this cut, once. */
  cutNext(cut: Cut): void;
  /** Takes back a cut that was not met, and tells what became of it. */
  endCut(): CutOutcome;
}

/**
 * @param target its host and port, as in a URL
 * @param isAnswer whether a piece from the server tells that the work is done for good
 */
export async function openCuttingProxy(
  target: { hostname: string; port: string },
  isAnswer: (piece: Buffer) => boolean,
): Promise<CuttingProxy> {
  const sockets = new Set<Socket>();
  let pending: Cut | undefined;
  let outcome: CutOutcome = 'uncut';

  const meetRequest = (piece: Buffer): Buffer | undefined => {
    if (pending?.at !== 'request') return undefined;
    pending = { ...pending, nth: pending.nth - 1 };
    if (pending.nth > 0) return undefined;
    const part = piece.subarray(0, Math.floor(piece.length * pending.share));
    outcome = part.length === 0 ? 'unsent' : 'unknown';
    pending = undefined;
    return part;
  };
  const meetAnswer = (piece: Buffer): Buffer | undefined => {
    if (pending?.at !== 'response' || !isAnswer(piece)) return undefined;
    const part = piece.subarray(0, Math.floor(piece.length * pending.share));
    outcome = 'responded';
    pending = undefined;
    return part;
  };
  const server = createServer((client) => {
    const upstream = connect({ host: target.hostname, port: Number(target.port), noDelay: true });
    for (const socket of [client, upstream]) keep(sockets, socket);
    relay({ from: client, to: upstream, meet: meetRequest });
    relay({ from: upstream, to: client, meet: meetAnswer });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  return {
    port: typeof address === 'object' && address ? address.port : 0,
    cutNext(cut) {
      pending = cut;
      outcome = 'uncut';
    },
    endCut() {
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
 * Hands on what comes, until a piece meets a cut: its part still gets through, then both sides see
 * the connection end. The far side has all that was let through, and may well go on working on it.
 */
function relay(lane: { from: Socket; to: Socket; meet(piece: Buffer): Buffer | undefined }): void {
  const { from, to, meet } = lane;
  const hand = (piece: Buffer) => {
    const part = meet(piece);
    if (part === undefined) {
      to.write(piece);
      return;
    }
    from.off('data', hand);
    to.end(part);
    to.resume();
    from.destroy();
  };
  from.on('data', hand);
  from.once('close', () => to.end());
}

/** Whether Postgres says with these bytes that it is ready again, outside of any transaction. */
export function isPostgresDone(piece: Buffer): boolean {
  return piece.subarray(-6).equals(Buffer.from('Z\0\0\0\x05I', 'latin1'));
}
