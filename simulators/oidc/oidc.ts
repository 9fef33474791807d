import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { closeServer, listenOn } from '../kit/http-server.ts';
import { authorizePage } from './authorize-page.ts';
import { githubEndpoints, type OidcFault, oidcEndpoints, Refusal } from './endpoints.ts';
import { createGrants } from './grants.ts';

export type SimulatedOidc = Awaited<ReturnType<typeof startSimulatedOidc>>;

/** Starts an issuer that speaks OpenID Connect, and as much of GitHub as a sign-in needs. */
export async function startSimulatedOidc({ port = 0 } = {}) {
  const client = { clientId: 'framewright', clientSecret: 'oidc-secret' };
  const grants = createGrants(client.clientSecret);
  let fault: OidcFault = 'none';
  const server = createServer((request, response) => void handle(request, response));
  const url = await listenOn(server, { port });
  const { clientId } = client;
  const endpoints = {
    ...oidcEndpoints(grants, { url, clientId, faultNow: () => fault }),
    ...githubEndpoints(grants),
  };

  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (fault === 'down') return void request.socket.destroy();
    const asked = new URL(request.url ?? '/', url);
    if (/^(\/login\/oauth)?\/authorize$/.test(asked.pathname)) {
      return authorizePage(asked, response, grants);
    }
    const result = (await endpoints[asked.pathname]?.(request)) ?? new Refusal(404);
    const { status, body } = result instanceof Refusal ? result : { status: 200, body: result };
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  }

  return {
    /** The issuer; also the address of the simulated GitHub. */
    url,
    /** The one client that is registered. */
    client,
    decide: grants.decide,
    fault: (next: OidcFault) => {
      fault = next;
    },
    close: () => closeServer(server),
  };
}
