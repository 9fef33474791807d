import { readFile } from 'node:fs/promises';
import { UsageError } from '../../kernel/errors.ts';
import {
  type Environment,
  number,
  read,
  refuseVariable,
  secret,
  webAddress,
  wholeNumber,
} from '../../kernel/variables.ts';

export type ComfyuiSettings = NonNullable<ReturnType<typeof readComfyuiSettings>>;

export function readComfyuiSettings(env: Environment) {
  const baseUrl = webAddress(env, 'COMFYUI_BASE_URL');
  const settings = {
    /** For a proxy in front of the server. */
    authorization: secret(env, 'COMFYUI_AUTHORIZATION'),
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
  return paths.includes('') ? refuseVariable(name, text, 'paths separated by commas') : paths;
}

export async function readWorkflow(file: string): Promise<{ name: string; text: string }> {
  try {
    return { name: file, text: await readFile(file, 'utf8') };
  } catch (error) {
    const cause = error instanceof Error ? error.message : String(error);
    throw new UsageError(`COMFYUI_WORKFLOWS: a file can't be read: ${cause}`);
  }
}
