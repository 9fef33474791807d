import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';

/** A TCP proxy that can swallow all data, as a firewall does that forgot its connections. */
export interface SwallowingProxy extends AsyncDisposable {
  /** The address of the target, through the proxy. */
  url: string;
  /** Swallows the data of all open connections for ever. They stay open. */
  forgetConnections(): void;
  /** As `forgetConnections`, and swallows the data of new connections too. */
  swallow(): void;
  /** Forwards the data of new connections again. */
  forward(): void;
}

export async function openSwallowingProxy(targetUrl: string): Promise<SwallowingProxy> {
  const target = new URL(targetUrl);
  const sockets = new Set<Socket>();
  let isSwallowing = false;
  const forget = () => {
    for (const socket of sockets) socket.unpipe().resume();
  };
  const server = createServer((client) => {
    keep(client);
    if (isSwallowing) return client.resume();
    const upstream = keep(connect({ host: target.hostname, port: Number(target.port) }));
    client.pipe(upstream).pipe(client);
  });
  const keep = (socket: Socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
    return socket.on('error', () => {}).setNoDelay();
  };
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const address = server.address();
  const url = new URL(targetUrl);
  url.port = String(typeof address === 'object' ? address?.port : '');
  return {
    url: url.href,
    forgetConnections: forget,
    swallow() {
      isSwallowing = true;
      forget();
    },
    forward() {
      isSwallowing = false;
    },
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}
