/** What a peer is given to run. */
export interface PeerSetup {
  /** Its programs are installed here. */
  folder: string;
  /** The simulated upstream, without a slash at its end. */
  upstreamUrl: string;
  port: number;
}

/** Requests as texts of HTTP/1.1. */
export interface PeerRequests {
  /** An authenticated read; undefined: it has no authentication. */
  read: string | undefined;
  create: string;
}

export interface RunningPeer extends AsyncDisposable {
  requests: PeerRequests;
  /** The processes whose memory counts. */
  pid: number;
  /**
   * Sends 200 requests at once on a budget for 10.
   * @returns how many were served, and what that means; or why it could not be run
   */
  overspend(): Promise<string>;
}

export interface Peer {
  name: string;
  version: string;
  /** What it has recorded on disk when its response to a create is sent. */
  durable: string;
  /**
   * Installs it into the folder, unless it is there.
   * @throws Error when it can't be had
   */
  install(folder: string): Promise<void>;
  start(setup: PeerSetup): Promise<RunningPeer>;
}

/** The text of a request with a JSON body, or of a GET without one. */
export function requestText(port: number, path: string, headers: object, body = ''): string {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  const rest =
    body === '' ? '' : `content-type: application/json\r\ncontent-length: ${body.length}\r\n`;
  const method = body === '' ? 'GET' : 'POST';
  return `${method} ${path} HTTP/1.1\r\nhost: 127.0.0.1:${port}\r\n${lines.join('')}${rest}\r\n${body}`;
}

/** A chat completion, which every gateway can pass on. */
export const CHAT = JSON.stringify({
  model: 'gpt-3.5-turbo',
  messages: [{ role: 'user', content: 'A lighthouse at dawn, waves below' }],
});
export const CHAT_PATH = '/v1/chat/completions';

export const PARALLEL = 200;
export const BUDGET = 10;

/** Posts JSON so many times at once. @returns how many got a status below 300 */
export async function served(
  count: number,
  url: string,
  body: string,
  headersOf: (turn: number) => Record<string, string>,
): Promise<number> {
  const statuses = await Promise.all(
    Array.from({ length: count }, async (_, turn) => {
      const headers = { ...headersOf(turn), 'content-type': 'application/json' };
      const response = await fetch(url, { method: 'POST', body, headers });
      await response.arrayBuffer();
      return response.status;
    }),
  );
  return statuses.filter((status) => status < 300).length;
}
