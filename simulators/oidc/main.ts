import { parseArgs } from 'node:util';
import { startSimulatedOidc } from './oidc.ts';

// Serves until it is killed: for trials and tests only.
const { values } = parseArgs({ options: { port: { type: 'string', default: '0' } } });
const { url, client } = await startSimulatedOidc({ port: Number(values.port) });
console.log(`OIDC_ISSUER=${url} GITHUB_URL=${url}`);
console.log(`the id of the client is ${client.clientId}, its secret ${client.clientSecret}`);
