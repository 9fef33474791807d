import { execFileSync, spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import path from 'node:path';
import { buffer } from 'node:stream/consumers';
import { closeServer, listenOn } from '../../../simulators/kit/http-server.ts';

/** Why there is no time stamping authority, if there is none. */
export const withoutOpenssl = spawnSync('openssl', ['version']).status !== 0 && 'needs openssl';

const EXTENSIONS = [
  'keyUsage=critical,digitalSignature',
  'extendedKeyUsage=critical,timeStamping',
  'subjectKeyIdentifier=hash',
  'authorityKeyIdentifier=keyid',
];

/** A time stamping authority (RFC 3161), whose files are in this folder. */
export async function startTimeStamps(folder: string) {
  const openssl = (...args: string[]) =>
    execFileSync('openssl', args, { cwd: folder, stdio: 'pipe' });
  const write = (name: string, lines: string[]) =>
    writeFileSync(path.join(folder, name), `${lines.join('\n')}\n`);
  const newKey = ['-newkey', 'rsa:2048', '-nodes', '-keyout'];
  openssl('req', '-x509', ...newKey, 'ca.key', '-out', 'ca.pem', '-days', '2', '-subj', '/CN=ca');
  openssl('req', ...newKey, 'tsa.key', '-out', 'tsa.csr', '-subj', '/CN=tsa');
  write('extensions', EXTENSIONS);
  const issuer = ['-CA', 'ca.pem', '-CAkey', 'ca.key', '-days', '2', '-extfile', 'extensions'];
  openssl('x509', '-req', '-in', 'tsa.csr', ...issuer, '-out', 'tsa.pem');
  write('serial', ['01']);
  write('tsa.cnf', [
    '[tsa]',
    'default_tsa=own',
    '[own]',
    'serial=serial',
    'signer_cert=tsa.pem',
    'certs=ca.pem',
    'signer_key=tsa.key',
    'signer_digest=sha256',
    'default_policy=1.2.3.4.1',
    'digests=sha256',
  ]);
  const server = createServer(async (request, response) => {
    writeFileSync(path.join(folder, 'query'), await buffer(request));
    openssl('ts', '-reply', '-config', 'tsa.cnf', '-queryfile', 'query', '-out', 'reply');
    response.end(readFileSync(path.join(folder, 'reply')));
  });
  const url = await listenOn(server);
  return { url, [Symbol.asyncDispose]: () => closeServer(server) };
}
