import { UsageError } from '../kernel/errors.ts';
import {
  bad,
  type Environment,
  number,
  read,
  secret,
  webAddress,
  yesOrNo,
} from '../kernel/variables.ts';
import type { JobSpec } from '../providers/provider.ts';

/** The providers there are. */
export const PROVIDERS = ['local', 'ark', 'fal', 'replicate', 'comfyui'] as const;
export type ProviderName = (typeof PROVIDERS)[number];

/** Ids at the provider that take the place of the adapter's own. */
export type OwnModels = Record<JobSpec['model'], string | undefined>;

export interface ArkSettings {
  apiKey: string;
  baseUrl: string;
  models: OwnModels;
  markAttempts: boolean;
  submitsPerMinute: number;
}

export interface FalSettings {
  apiKey: string;
  queueUrl: string;
  platformUrl: string | undefined;
  jwksUrl: string | undefined;
  userId: string | undefined;
  models: OwnModels;
  markAttempts: boolean;
}

export interface ReplicateSettings {
  apiToken: string;
  baseUrl: string;
  webhookSecret: string | undefined;
  models: OwnModels;
  listLagSeconds: number | undefined;
}

export interface ComfyuiSettings {
  baseUrl: string;
  authorization: string | undefined;
  /** Paths, to be read at the start. */
  workflowFiles: string[];
  framesPerSecond: number;
  frameStep: number;
  jobLimitSeconds: number;
}

/** The foreign providers that are configured; undefined: not. */
export interface ProviderSettings {
  ark: ArkSettings | undefined;
  fal: FalSettings | undefined;
  replicate: ReplicateSettings | undefined;
  comfyui: ComfyuiSettings | undefined;
}

/** Variables a provider can't do without, the first of which registers it; and what they want. */
const NEEDED: Record<ProviderName, Array<[variable: string, wanted: string]>> = {
  local: [],
  ark: [['ARK_API_KEY', 'an API key of ModelArk']],
  fal: [['FAL_API_KEY', 'an API key of fal']],
  replicate: [['REPLICATE_API_TOKEN', 'an API token of Replicate']],
  comfyui: [
    ['COMFYUI_BASE_URL', 'the address of a ComfyUI server, such as http://10.0.0.5:8188'],
    ['COMFYUI_WORKFLOWS', 'files of workflows exported by "Export (API)", with commas between'],
  ],
};

/** The variable that registers a provider of this name; undefined when nobody knows it. */
export function variableFor(provider: string): string | undefined {
  const name = PROVIDERS.find((known) => known === provider);
  return name && NEEDED[name][0]?.[0];
}

/**
 * Reads the providers' variables. A provider is configured when its key (for comfyui its address)
 * is set; the chosen one must be.
 * @throws UsageError, one line that names the variable, when a value is malformed, whether or not
 *   its provider is configured, or when one is missing
 */
export function readProviders(env: Environment, chosen: ProviderName): ProviderSettings {
  const settings = {
    ark: readArk(env),
    fal: readFal(env),
    replicate: readReplicate(env),
    comfyui: readComfyui(env),
  };
  requireComplete(env, chosen, `PROVIDER=${chosen}`);
  if (settings.comfyui) requireComplete(env, 'comfyui', 'COMFYUI_BASE_URL');
  return settings;
}

function requireComplete(env: Environment, provider: ProviderName, why: string): void {
  for (const [name, wanted] of NEEDED[provider]) {
    if (read(env, name, '') === '')
      throw new UsageError(`${name} is not set: ${why} wants ${wanted}`);
  }
}

/** 60,000 a minute are a thousand a second, more than anybody grants. */
const PER_MINUTE = { min: 1, max: 60_000 };

function readArk(env: Environment): ArkSettings | undefined {
  const apiKey = secret(env, 'ARK_API_KEY');
  const settings = {
    baseUrl: webAddress(env, 'ARK_BASE_URL') ?? 'https://ark.ap-southeast.bytepluses.com/api/v3',
    models: readModels(env, 'ARK'),
    markAttempts: yesOrNo(env, 'ARK_MARK_ATTEMPTS', 'yes'),
    submitsPerMinute: number(env, 'ARK_SUBMITS_PER_MINUTE', 600, PER_MINUTE),
  };
  return apiKey === undefined ? undefined : { ...settings, apiKey };
}

function readFal(env: Environment): FalSettings | undefined {
  const apiKey = secret(env, 'FAL_API_KEY');
  const settings = {
    queueUrl: webAddress(env, 'FAL_QUEUE_URL') ?? 'https://queue.fal.run',
    platformUrl: webAddress(env, 'FAL_PLATFORM_URL'),
    jwksUrl: webAddress(env, 'FAL_JWKS_URL'),
    userId: read(env, 'FAL_USER_ID', '') || undefined,
    models: readModels(env, 'FAL'),
    markAttempts: yesOrNo(env, 'FAL_MARK_ATTEMPTS', 'yes'),
  };
  return apiKey === undefined ? undefined : { ...settings, apiKey };
}

function readReplicate(env: Environment): ReplicateSettings | undefined {
  const apiToken = secret(env, 'REPLICATE_API_TOKEN');
  const settings = {
    baseUrl: webAddress(env, 'REPLICATE_BASE_URL') ?? 'https://api.replicate.com',
    webhookSecret: webhookSecret(env, 'REPLICATE_WEBHOOK_SECRET'),
    models: readModels(env, 'REPLICATE'),
    listLagSeconds: isSet(env, 'REPLICATE_LIST_LAG_SECONDS')
      ? number(env, 'REPLICATE_LIST_LAG_SECONDS', 0)
      : undefined,
  };
  return apiToken === undefined ? undefined : { ...settings, apiToken };
}

function readComfyui(env: Environment): ComfyuiSettings | undefined {
  const baseUrl = webAddress(env, 'COMFYUI_BASE_URL');
  const settings = {
    authorization: secret(env, 'COMFYUI_AUTHORIZATION'),
    workflowFiles: readPaths(env, 'COMFYUI_WORKFLOWS'),
    framesPerSecond: number(env, 'COMFYUI_FRAMES_PER_SECOND', 24, { min: 1, max: 240 }),
    frameStep: wholeNumber(env, 'COMFYUI_FRAME_STEP', 1, { min: 1, max: 1000 }),
    jobLimitSeconds: number(env, 'COMFYUI_JOB_LIMIT_SECONDS', 3600, { min: 1 }),
  };
  return baseUrl === undefined ? undefined : { ...settings, baseUrl };
}

function readPaths(env: Environment, name: string): string[] {
  const text = read(env, name, '');
  const paths = text.split(',').map((path) => path.trim());
  if (text === '') return [];
  return paths.includes('') ? bad(name, text, 'paths with a comma between two') : paths;
}

function isSet(env: Environment, name: string): boolean {
  return read(env, name, '') !== '';
}

function wholeNumber(...[env, name, fallback, bounds]: Parameters<typeof number>): number {
  const value = number(env, name, fallback, bounds);
  return Number.isInteger(value) ? value : bad(name, String(value), 'a whole number');
}

/** A webhook's secret as Replicate shows it: a key in base64 behind a mark. */
function webhookSecret(env: Environment, name: string): string | undefined {
  const text = secret(env, name);
  if (text === undefined || /^whsec_[A-Za-z0-9+/]+=*$/.test(text)) return text;
  // The value is not repeated.
  throw new UsageError(`${name} is not valid: it wants whsec_ and what follows it at Replicate`);
}

function readModels(env: Environment, prefix: string): OwnModels {
  return {
    'video-2.0': readModel(env, `${prefix}_MODEL`),
    'video-2.0-fast': readModel(env, `${prefix}_MODEL_FAST`),
    'video-2.0-mini': readModel(env, `${prefix}_MODEL_MINI`),
  };
}

/** Ids become part of addresses, so nothing is let in that would mean something there. */
function readModel(env: Environment, name: string): string | undefined {
  const text = read(env, name, '');
  const isModel = /^[\w.:-]+(\/[\w.:-]+)*$/.test(text);
  if (text !== '' && !isModel) bad(name, text, 'the id of a model, such as owner/name');
  return text || undefined;
}
