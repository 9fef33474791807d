import { renameSync, statSync } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import path from 'node:path';
import type { Framewright } from '@framewright/client';
import { Failure } from '../failure.ts';
import { syncFolder } from '../state/folders.ts';
import { bar, type Screen } from '../terminal/screen.ts';

/** The partial download, next to the file. */
export const partOf = (output: string, taskId: string) => `${output}.${taskId}.part`;

const sizeOf = (file: string) => statSync(file, { throwIfNoEntry: false })?.size;

/** Downloads or resumes a task's video. The file appears only once it is complete on disk. */
export async function downloadTo(
  output: string,
  { client, taskId, screen }: { client: Framewright; taskId: string; screen: Screen },
): Promise<void> {
  const part = partOf(output, taskId);
  const total = await lengthOf(client, taskId);
  const file = await open(part, sizeOf(part) === undefined ? 'wx' : 'r+');
  try {
    const received = sizeOf(part) ?? 0;
    const isTooLong = total !== undefined && received > total;
    if (isTooLong) await file.truncate(0);
    // The last byte is read again: an empty range would be an error.
    const from = isTooLong ? 0 : Math.max(0, received - 1);
    const show = (at: number) => screen.progress(`downloading ${bar(at, total ?? at)}`);
    await client.videos.download(taskId, streamTo(file, from, show), { from });
    requireLength(part, total);
    await file.sync();
  } finally {
    await file.close();
    screen.progress(null);
  }
  try {
    renameSync(part, output);
  } catch (error) {
    // Another `fw` resuming at the same moment may have renamed it.
    if (sizeOf(part) !== undefined || sizeOf(output) !== total) throw error;
  }
  syncFolder(path.dirname(output));
}

function requireLength(part: string, total: number | undefined): void {
  const received = sizeOf(part);
  if (total === undefined || received === total) return;
  const message = `Expected ${total} bytes, received ${received}.`;
  throw new Failure('unfinished', message, { next: 'fw resume downloads the rest.' });
}

async function lengthOf(client: Framewright, taskId: string): Promise<number | undefined> {
  const { output } = await client.videos.get(taskId);
  if (!output) return undefined;
  const head = await fetch(output.video_url, {
    method: 'HEAD',
    headers: { 'accept-encoding': 'identity' },
    signal: AbortSignal.timeout(30_000),
  }).catch(() => undefined);
  const length = Number(head?.headers.get('content-length'));
  return head?.ok && length > 0 ? length : undefined;
}

/** Writes at fixed offsets: two processes may download the same video into the same file. */
function streamTo(file: FileHandle, from: number, onBytes: (at: number) => void) {
  let at = from;
  return new WritableStream<Uint8Array>({
    async write(bytes) {
      for (let done = 0; done < bytes.length; ) {
        const { bytesWritten } = await file.write(bytes, done, bytes.length - done, at);
        done += bytesWritten;
        at += bytesWritten;
      }
      onBytes(at);
    },
  });
}
