/** A program that runs clients of any HTTP service, each on a keep-alive connection of its own. */
import { openHttpConnection } from '../http-connection.ts';
import { serveRequests } from '../program.ts';
import { measure, type Sample } from '../sample.ts';

export interface PeerClientsSetup {
  url: string;
  clients: number;
  /** Sent in turn; `{uuid}` becomes a new one each time. */
  texts: string[];
}

serveRequests<PeerClientsSetup, { seconds: number }, Sample>(async ({ url, clients, texts }) => {
  const connections = await Promise.all(
    Array.from({ length: clients }, () => openHttpConnection(new URL(url))),
  );
  let turn = 0;
  const act = async (client: number) => {
    const text = texts[turn % texts.length] ?? '';
    turn += 1;
    const status = await connections[client]?.send(text.replace('{uuid}', crypto.randomUUID()));
    if (status !== 200 && status !== 202) throw new Error(`a request got ${status}`);
  };
  return {
    handle: ({ seconds }) => measure({ clients, seconds }, act),
    close: async () => {
      for (const connection of connections) connection.close();
    },
  };
});
