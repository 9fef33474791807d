import { readFile } from 'node:fs/promises';
import { UsageError } from '../../kernel/errors.ts';
import {
  bad,
  type Environment,
  namingVariables,
  number,
  read,
  secret,
  webAddress,
} from '../../kernel/variables.ts';
import type { ProviderDefinition } from '../definition.ts';
import { OUTPUT_BYTES } from '../kit/open-output.ts';
import { createComfyuiProvider } from './comfyui.ts';
import { COMFYUI_FIELDS } from './values.ts';

function readSettings(env: Environment) {
  const baseUrl = webAddress(env, 'COMFYUI_BASE_URL');
  const settings = {
    authorization: secret(env, 'COMFYUI_AUTHORIZATION'),
    /** Paths, which are read when the provider is created. */
    workflowFiles: readPaths(env, 'COMFYUI_WORKFLOWS'),
    frameRules: {
      framesPerSecond: number(env, 'COMFYUI_FRAMES_PER_SECOND', 24, { min: 1, max: 240 }),
      frameStep: wholeNumber(env, 'COMFYUI_FRAME_STEP', 1, { min: 1, max: 1000 }),
    },
    jobLimitSeconds: number(env, 'COMFYUI_JOB_LIMIT_SECONDS', 3600, { min: 1 }),
  };
  return baseUrl === undefined ? undefined : { ...settings, baseUrl };
}

function readPaths(env: Environment, name: string): string[] {
  const text = read(env, name, '');
  const paths = text.split(',').map((path) => path.trim());
  if (text === '') return [];
  return paths.includes('') ? bad(name, text, 'paths separated by commas') : paths;
}

function wholeNumber(...[env, name, fallback, bounds]: Parameters<typeof number>): number {
  const value = number(env, name, fallback, bounds);
  return Number.isInteger(value) ? value : bad(name, String(value), 'a whole number');
}

type Settings = NonNullable<ReturnType<typeof readSettings>>;

export const comfyui: ProviderDefinition<Settings> = {
  name: 'comfyui',
  registeredBy: [
    {
      variable: 'COMFYUI_BASE_URL',
      wanted: 'the address of a ComfyUI server, such as http://10.0.0.5:8188',
    },
    {
      variable: 'COMFYUI_WORKFLOWS',
      wanted: 'workflow files exported by "Export (API)", separated by commas',
    },
  ],
  readSettings,
  apiKey: () => undefined,
  // The server is in the operator's own network, where plain http is allowed.
  baseUrls: () => ({}),
  fetchesInputs: false, // they are uploaded, and ComfyUI never calls back
  fields: { table: COMFYUI_FIELDS, shown: (name) => `{{${name}}}` },
  async create({ workflowFiles, ...settings }, { storage, now, submitTimeoutSeconds }) {
    const options = {
      ...settings,
      workflows: await Promise.all(workflowFiles.map(readWorkflow)),
      files: storage,
      timeoutSeconds: submitTimeoutSeconds,
      maxOutputBytes: OUTPUT_BYTES,
      now,
    };
    return namingVariables('COMFYUI_WORKFLOWS', () => createComfyuiProvider(options));
  },
};

async function readWorkflow(file: string): Promise<{ name: string; text: string }> {
  try {
    return { name: file, text: await readFile(file, 'utf8') };
  } catch (error) {
    const cause = error instanceof Error ? error.message : String(error);
    throw new UsageError(`COMFYUI_WORKFLOWS: a file can't be read: ${cause}`);
  }
}
