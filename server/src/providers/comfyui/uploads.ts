import { fileEnding } from '../../kernel/file-names.ts';
import { ServerError } from '../kit/remote.ts';
import type { ProviderInput } from '../provider.ts';
import { viewPath } from './outputs.ts';
import type { ComfyuiServer } from './server.ts';

export interface InputFiles {
  open(objectId: string): Promise<AsyncIterable<Uint8Array>>;
  sizeOf(objectId: string): Promise<number | undefined>;
}

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
  server: ComfyuiServer,
  input: ProviderInput,
  files: InputFiles,
): Promise<string> {
  const { objectId, mediaType } = input;
  const filename = `${objectId}.${fileEnding(mediaType)}`;
  const sizeBytes = await files.sizeOf(objectId);
  if (sizeBytes === undefined) throw new ServerError(`the file ${objectId} is not in the storage`);
  if (sizeBytes > UPLOAD_BYTES) {
    throw new ServerError('a file is too large to upload; use its _url placeholder', 413);
  }
  if (!(await isThere(server, filename, sizeBytes))) {
    await send(server, { filename, sizeBytes, open: () => files.open(objectId) });
  }
  return `${SUBFOLDER}/${filename} [temp]`;
}

/** The size is compared, because a server that was killed may have only part of the file. */
async function isThere(server: ComfyuiServer, filename: string, sizeBytes: number) {
  const path = viewPath({ filename, subfolder: SUBFOLDER, type: 'temp' });
  const { status, headers } = await server.api.request('HEAD', server.baseUrl + path);
  return status === 200 && headers['content-length'] === String(sizeBytes);
}

interface File {
  /** Letters, digits, `_`, `-` and dots only: it needs no escaping. */
  filename: string;
  sizeBytes: number;
  open(): Promise<AsyncIterable<Uint8Array>>;
}

async function send(server: ComfyuiServer, file: File): Promise<void> {
  const content = multipart({ subfolder: SUBFOLDER, type: 'temp', overwrite: 'true' }, file);
  const url = `${server.baseUrl}/upload/image`;
  const { status } = await server.api.request('POST', url, content);
  if (status !== 200)
    throw new ServerError(`the response to the upload was HTTP ${status}`, status);
}

/** A multipart/form-data body (RFC 7578) that streams the file as its last field, `image`. */
function multipart(fields: Record<string, string>, { filename, sizeBytes, open }: File) {
  const boundary = `framewright-${crypto.randomUUID()}`;
  const fieldHead = (disposition: string) =>
    `--${boundary}\r\ncontent-disposition: form-data; ${disposition}\r\n`;
  const head = Object.entries(fields)
    .map(([name, value]) => `${fieldHead(`name="${name}"`)}\r\n${value}\r\n`)
    .join('');
  const fileHead = fieldHead(`name="image"; filename="${filename}"`);
  const before = Buffer.from(`${head}${fileHead}content-type: application/octet-stream\r\n\r\n`);
  const after = Buffer.from(`\r\n--${boundary}--\r\n`);
  async function* stream() {
    yield before;
    yield* await open();
    yield after;
  }
  const headers = {
    'content-type': `multipart/form-data; boundary=${boundary}`,
    'content-length': String(before.length + sizeBytes + after.length),
  };
  return { headers, body: stream() };
}
