import { fileEnding } from '../../kernel/file-endings.ts';
import type { ProviderInput } from '../provider.ts';
import { viewPath } from './outputs.ts';
import { askServer, type ServerAddress, ServerError } from './server.ts';

/** Reads the service's own copy of a client's file. */
export type OpenInput = (objectId: string) => Promise<AsyncIterable<Uint8Array>>;

/** The largest upload that the server takes by default (`--max-upload-size`). */
export const UPLOAD_BYTES = 100 * 2 ** 20;

const SUBFOLDER = 'framewright';

/**
 * Uploads a client's file, unless the server has it already: if a submit ran out of time, the next
 * one is faster. The file goes to the folder `temp`, because the server empties it at each start;
 * files in other folders are never deleted.
 * Source: ComfyUI `server.py`, `image_upload`, which takes files of any kind.
 * @returns the name of the file for a loading node: `folder/name [temp]`
 * @throws ServerError when the file did not arrive
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

function tooLarge(): ServerError {
  const cause = 'a file is too large to upload; use its _url placeholder';
  return new ServerError(cause, 413);
}

/** The size is compared, because a server that was killed may have only part of the file. */
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
    throw new ServerError(`the response to the upload was HTTP ${status}`, status);
}
