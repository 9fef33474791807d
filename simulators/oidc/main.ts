import { readCommandLine } from '../kit/options.ts';
import { startSimulatedOidc } from './oidc.ts';

const about = 'Simulates an issuer of identities (OpenID, GitHub), for trials and tests only.';
const line = readCommandLine('oidc/main.ts', about, {
  port: { value: 'N', default: '0', about: 'its port; 0 picks a free one' },
});
const { url, client } = await startSimulatedOidc({ port: line.number('port') });
console.log(`oidc simulator listens at ${url}
Start the service with these variables:
OIDC_ISSUER=${url}
OIDC_CLIENT_ID=${client.clientId}
OIDC_CLIENT_SECRET=${client.clientSecret}
It also stands in for GitHub:
GITHUB_URL=${url}
GITHUB_CLIENT_ID=${client.clientId}
GITHUB_CLIENT_SECRET=${client.clientSecret}`);
