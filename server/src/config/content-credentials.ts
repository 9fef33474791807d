import { readCertificate, type SigningCertificate } from '../credentials/certificate.ts';
import { UsageError } from '../kernel/errors.ts';
import {
  choice,
  type Environment,
  namingVariables,
  read,
  webAddress,
  yesOrNo,
} from '../kernel/variables.ts';
import { fileText } from './models-file.ts';

export interface CredentialsSettings {
  /** undefined: the service makes one. */
  certificate: SigningCertificate | undefined;
  /** The address of a time stamping authority; undefined: signatures have no time stamp. */
  timeStamps: string | undefined;
  /** Whether the manifest has the hash of the prompt. */
  namesPrompt: boolean;
  /** What becomes of a video that can't be signed for some minutes. */
  onFailure: 'wait' | 'unsigned';
}

/** @returns undefined if CONTENT_CREDENTIALS is off */
export function readContentCredentials(env: Environment): CredentialsSettings | undefined {
  const isOn = choice(env, 'CONTENT_CREDENTIALS', 'on', ['on', 'off']) === 'on';
  const settings = {
    certificate: isOn ? givenCertificate(env) : undefined,
    timeStamps: webAddress(env, 'CONTENT_CREDENTIALS_TSA'),
    namesPrompt: yesOrNo(env, 'CONTENT_CREDENTIALS_PROMPT', 'no'),
    onFailure: choice(env, 'CONTENT_CREDENTIALS_ON_FAILURE', 'wait', ['wait', 'unsigned']),
  };
  return isOn ? settings : undefined;
}

function givenCertificate(env: Environment): SigningCertificate | undefined {
  const [chain, privateKey] = [fileOf(env, CERT), fileOf(env, KEY)];
  if (chain === undefined && privateKey === undefined) return undefined;
  if (chain === undefined) throw new UsageError(`${KEY} is set, but ${CERT} is not`);
  if (privateKey === undefined) throw new UsageError(`${CERT} is set, but ${KEY} is not`);
  return namingVariables(`${CERT}, ${KEY}`, () =>
    readCertificate({ chain, privateKey }, new Date()),
  );
}

const CERT = 'CONTENT_CREDENTIALS_CERT';
const KEY = 'CONTENT_CREDENTIALS_KEY';

function fileOf(env: Environment, name: string): string | undefined {
  const file = read(env, name, '');
  return file === '' ? undefined : namingVariables(`${name}: ${file}`, () => fileText(file));
}
