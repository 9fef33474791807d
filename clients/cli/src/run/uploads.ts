import { basename } from 'node:path';
import type { Call } from '../command.ts';
import { clientOf } from '../state/login.ts';

export async function uploads({ words, screen }: Call): Promise<void> {
  const client = clientOf();
  const made = [];
  for (const file of words) {
    screen.progress(`uploading ${basename(file)}`);
    const upload = await client.uploads.create(file);
    made.push(upload);
    if (!screen.isJson) screen.result(null, upload.url);
  }
  if (screen.isJson) screen.result(made, '');
  screen.note('They work in the requests of this account, for a day after their last use.');
}
