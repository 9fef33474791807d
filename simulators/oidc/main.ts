import { parseArgs } from 'node:util';
import { startSimulatedOidc } from './oidc.ts';

// Serves until it is killed: for trials and tests only.
const { values } = parseArgs({ options: { port: { type: 'string', default: '0' } } });
const { url, client } = await startSimulatedOidc({ port: Number(values.port) });
console.log(`oidc simulator listens at ${url}
Start the service with these variables:
OIDC_ISSUER=${url}
OIDC_CLIENT_ID=${client.clientId}
OIDC_CLIENT_SECRET=${client.clientSecret}
It also stands in for GitHub:
GITHUB_URL=${url}
GITHUB_CLIENT_ID=${client.clientId}
GITHUB_CLIENT_SECRET=${client.clientSecret}`);
