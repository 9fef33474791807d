import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, readFile, rename } from 'node:fs/promises';
import path from 'node:path';
import type { SimulatedResponse } from './exchange.ts';
import { type Fault, quirk } from './faults.ts';

/** The video that a job was asked for. */
export interface OutputSpec {
  width: number;
  height: number;
  seconds: number;
  audio: boolean;
}

const TOO_LARGE_BYTES = 300 * 2 ** 20;
const PATTERN = {
  prompt: 'Simulated output',
  seed: 1,
  mode: 'text-to-video',
  referenceImagePaths: [],
  referenceVideoPaths: [],
} as const;
const MP4 = { 'content-type': 'video/mp4' };

/**
 * Outputs in a folder: one file for each combination of size, length and sound.
 * @param outputFile if given, every output is this file instead
 */
export function createOutputs(folder: string, outputFile?: string) {
  const video = outputFile === undefined ? createVideos(folder) : () => readOnce(outputFile);
  return {
    /** The path of a link that works until `expiresAt` (milliseconds since 1970). */
    pathOf: (jobId: string, expiresAt: number) =>
      `/outputs/${jobId}.mp4?expires=${expiresAt}&signature=${signatureOf(jobId, expiresAt)}`,
    /** Serves such a link: a real MP4 of the spec, changed by the job's faults. */
    async serve(jobId: string, query: URLSearchParams, quirks: Fault[], spec: OutputSpec) {
      const has = (kind: Fault['kind']) => quirk({ quirks }, kind) !== undefined;
      const expiresAt = Number(query.get('expires'));
      const isSigned = query.get('signature') === signatureOf(jobId, expiresAt);
      if (has('output_expired') || !isSigned || Date.now() > expiresAt) return expired();
      if (has('output_too_large')) return tooLarge();
      return { status: 200, headers: MP4, bytes: await video(spec) };
    },
  };
}

/** Detects changed links only: the outputs of a simulator are not secret. */
function signatureOf(jobId: string, expiresAt: number): string {
  return createHash('sha256').update(`${jobId} ${expiresAt}`).digest('hex').slice(0, 32);
}

function expired(): SimulatedResponse {
  const page = '<Error><Code>AccessDenied</Code><Message>Request has expired</Message></Error>';
  return { status: 403, headers: { 'content-type': 'application/xml' }, bytes: Buffer.from(page) };
}

function tooLarge(): SimulatedResponse {
  return { status: 200, headers: MP4, bytes: Buffer.alloc(TOO_LARGE_BYTES) };
}

function createVideos(folder: string) {
  const making = new Map<string, Promise<Buffer>>();
  return (spec: OutputSpec): Promise<Buffer> => {
    const { width, height, seconds, audio } = spec;
    const name = `${width}x${height}-${seconds}s${audio ? '-audio' : ''}.mp4`;
    const bytes = making.get(name) ?? readOrMake(path.join(folder, name), spec);
    making.set(name, bytes);
    return bytes;
  };
}

const files = new Map<string, Promise<Buffer>>();

function readOnce(file: string): Promise<Buffer> {
  const bytes = files.get(file) ?? readFile(file);
  files.set(file, bytes);
  return bytes;
}

async function readOrMake(file: string, spec: OutputSpec): Promise<Buffer> {
  if (!existsSync(file)) {
    // Loaded on first use, because FFmpeg takes longer to load than everything else.
    const { render } = await import('local-renderer');
    await mkdir(path.dirname(file), { recursive: true });
    const { width, height, seconds, audio } = spec;
    const draft = file.replace(/mp4$/, `${process.pid}.draft`);
    await render(
      { ...PATTERN, width, height, durationSeconds: seconds, generateAudio: audio },
      draft,
    );
    await rename(draft, file); // so that a kill leaves no partial video under this name
  }
  return readFile(file);
}
