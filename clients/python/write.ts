import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { modelsText } from './models.ts';
import { syncClientText } from './sync-client.ts';

// Writes the files of the Python SDK that follow from others: `node clients/python/write.ts`.

const read = (name: string) => readFileSync(path.join(import.meta.dirname, name), 'utf8');

/** What these files are to be, by their paths. */
export function writtenFiles(): Map<string, string> {
  const texts = {
    _models: modelsText(JSON.parse(read('../../openapi.json'))),
    _client: syncClientText(read('src/framewright_client/_async_client.py')),
  };
  return new Map(
    Object.entries(texts).map(([name, text]) => [
      path.join(import.meta.dirname, `src/framewright_client/${name}.py`),
      text,
    ]),
  );
}

if (import.meta.main) for (const [file, text] of writtenFiles()) writeFileSync(file, text);
