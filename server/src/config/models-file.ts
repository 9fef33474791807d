import { readFileSync } from 'node:fs';
import { type ModelsFile, parseModelsFile } from '../catalog/models-file.ts';
import { UsageError } from '../kernel/errors.ts';
import { type Environment, namingVariables, read } from '../kernel/variables.ts';

/** @returns undefined if MODELS_FILE is not set */
export function readModelsFile(env: Environment): ModelsFile | undefined {
  const file = read(env, 'MODELS_FILE', '');
  if (file === '') return undefined;
  return namingVariables(`MODELS_FILE: ${file}`, () => parseModelsFile(fileText(file)));
}

export function fileText(file: string): string {
  return fileBytes(file).toString('utf8');
}

/** @throws UsageError when the file can't be read */
export function fileBytes(file: string): Buffer {
  try {
    return readFileSync(file);
  } catch (error) {
    throw new UsageError(`it can't be read: ${error instanceof Error ? error.message : error}`);
  }
}
