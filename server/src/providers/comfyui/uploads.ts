import { fileEnding } from '../../kernel/file-endings.ts';
import type { ProviderInput } from '../provider.ts';
import { viewPath } from './outputs.ts';
import { askServer, type ServerAddress, ServerTrouble } from './server.ts';

/** Reads the service's own copy of a client's file. */
export type OpenInput = (objectId: string) => Promise<AsyncIterable<Uint8Array>>;

/** What the server takes unless started with another `--max-upload-size`. */
export const UPLOAD_BYTES = 100 * 2 ** 20;

const SUBFOLDER = 'framewright';

/**
 * Brings a client's file to the server, unless it is there already, so that a submit that ran out
 * of time goes faster the next time. It goes to the folder `temp`, which the server empties at each
 * start: nothing else would ever delete it.
 * Source: ComfyUI `server.py`, `image_upload`; it takes files of any kind.
 * @returns what a loading node calls the file: `folder/name [temp]`
 * @throws ServerTrouble when it did not arrive
 */
export async function upload(
  server: ServerAddress,
  input: ProviderInput,
  openInput: OpenInput,
): Promise<string> {
  const filename = `${input.objectId}.${fileEnding(input.mediaType)}`;
  const bytes = await readInput(await openInput(input.objectId));
  if (!(await isThere(server, filename, bytes.length))) await send(server, filename, bytes);
  return `${SUBFOLDER}/${filename} [temp]`;
}

async function readInput(file: AsyncIterable<Uint8Array>): Promise<Uint8Array<ArrayBuffer>> {
  const chunks: Uint8Array[] = [];
  let sizeBytes = 0;
  for await (const chunk of file) {
    sizeBytes += chunk.length;
    if (sizeBytes > UPLOAD_BYTES) throw tooLarge();
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

function tooLarge(): ServerTrouble {
  const words = 'a file is larger than can be uploaded; use its _url placeholder';
  return new ServerTrouble(words, 413);
}

/** The size tells a file that was cut short by a kill of the server from a whole one. */
async function isThere(server: ServerAddress, filename: string, sizeBytes: number) {
  const path = viewPath({ filename, subfolder: SUBFOLDER, type: 'temp' });
  const { status, headers } = await askServer(server, { method: 'HEAD', path });
  return status === 200 && headers['content-length'] === String(sizeBytes);
}

async function send(server: ServerAddress, filename: string, bytes: Uint8Array<ArrayBuffer>) {
  const form = new FormData();
  form.set('image', new Blob([bytes]), filename);
  form.set('subfolder', SUBFOLDER);
  form.set('type', 'temp');
  form.set('overwrite', 'true');
  const encoded = new Response(form);
  const contentType = encoded.headers.get('content-type') ?? '';
  const body = { contentType, bytes: new Uint8Array(await encoded.arrayBuffer()) };
  const { status } = await askServer(server, { method: 'POST', path: '/upload/image', body });
  if (status !== 200)
    throw new ServerTrouble(`the upload was answered with HTTP ${status}`, status);
}
