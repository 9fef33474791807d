import { readCertificate, type SigningCertificate } from '../credentials/certificate.ts';
import type { SigningService } from '../credentials/signing-key.ts';
import { UsageError } from '../kernel/errors.ts';
import {
  choice,
  type Environment,
  namingVariables,
  read,
  refuseVariable,
  secret,
  webAddress,
  yesOrNo,
} from '../kernel/variables.ts';
import { type HostRules, mayGetSecrets } from '../outbound/addresses.ts';
import { fileText } from './models-file.ts';

export interface CredentialsSettings {
  /** undefined: the service makes one. */
  certificate: SigningCertificate | undefined;
  /** The address of a time stamping authority; undefined: signatures have no time stamp. */
  timeStamps: string | undefined;
  /** Whether the manifest of a video has the hash of its prompt. */
  namesPrompt: boolean;
  /** Whether it has the hashes of the request's files. */
  namesInputs: boolean;
  /** What becomes of a video that can't be signed for some minutes. */
  onFailure: 'wait' | 'unsigned';
}

/** @returns undefined if CONTENT_CREDENTIALS is off */
export function readContentCredentials(
  env: Environment,
  hosts: HostRules,
): CredentialsSettings | undefined {
  const isOn = choice(env, 'CONTENT_CREDENTIALS', 'on', ['on', 'off']) === 'on';
  const settings = {
    certificate: isOn ? givenCertificate(env, hosts) : undefined,
    timeStamps: webAddress(env, 'CONTENT_CREDENTIALS_TSA'),
    namesPrompt: yesOrNo(env, 'CONTENT_CREDENTIALS_PROMPT', 'no'),
    namesInputs: yesOrNo(env, 'CONTENT_CREDENTIALS_INGREDIENTS', 'no'),
    onFailure: choice(env, 'CONTENT_CREDENTIALS_ON_FAILURE', 'wait', ['wait', 'unsigned']),
  };
  return isOn ? settings : undefined;
}

function givenCertificate(env: Environment, hosts: HostRules): SigningCertificate | undefined {
  const [chain, privateKey] = [fileOf(env, CERT), fileOf(env, KEY)];
  const service = signingService(env, hosts);
  if (privateKey !== undefined && service)
    throw new UsageError(`${KEY} and ${SIGNER} are both set`);
  const key = service ? { service } : privateKey !== undefined && { privateKey };
  if (chain === undefined && !key) return undefined;
  if (chain === undefined)
    throw new UsageError(`${service ? SIGNER : KEY} is set, but ${CERT} is not`);
  if (!key) throw new UsageError(`${CERT} is set, but neither ${KEY} nor ${SIGNER} is`);
  return namingVariables(`${CERT}, ${service ? SIGNER : KEY}`, () =>
    readCertificate({ chain, ...key }, new Date()),
  );
}

function signingService(env: Environment, hosts: HostRules): SigningService | undefined {
  const url = webAddress(env, SIGNER);
  const token = secret(env, 'CONTENT_CREDENTIALS_SIGNER_TOKEN');
  if (url === undefined) return undefined;
  if (!mayGetSecrets(url, hosts)) refuseVariable(SIGNER, url, 'https, or a host on OUTBOUND_ALLOW');
  return { url, token };
}

const CERT = 'CONTENT_CREDENTIALS_CERT';
const KEY = 'CONTENT_CREDENTIALS_KEY';
const SIGNER = 'CONTENT_CREDENTIALS_SIGNER_URL';

function fileOf(env: Environment, name: string): string | undefined {
  const file = read(env, name, '');
  return file === '' ? undefined : namingVariables(`${name}: ${file}`, () => fileText(file));
}
