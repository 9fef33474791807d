import { hash } from 'node:crypto';
import type { Origin, Parent } from '../credentials/manifest.ts';
import type { Signer } from '../credentials/signer.ts';
import { VERSION } from '../kernel/version.ts';
import type { Provider } from '../providers/provider.ts';
import type { OutputFile } from '../storage/outputs.ts';
import type { Credentials, Task } from '../tasks/task.ts';
import { report } from '../telemetry/reports.ts';
import { recheckDelaySeconds } from './generate.ts';

export interface CredentialsDeps {
  signer: Pick<Signer, 'sign' | 'prepare'>;
  /** Whether the manifest has the hash of the prompt. */
  namesPrompt: boolean;
  /** Whether the manifest has the hashes of the task's files. */
  namesInputs: boolean;
  /** What the service is called. */
  generator?: () => string;
  /** After {@link RETRY_SECONDS} of failures: hold the task, or store its video unsigned. */
  onFailure: 'wait' | 'unsigned';
}

/** How long a failing signer is tried again. */
const RETRY_SECONDS = 300;
/** The same in the second half of the time for which the provider keeps the output. */
const LATE_RETRY_SECONDS = 30;

/** Signing has failed for so long that the task waits for an operator. */
export class NotSigned extends Error {
  override name = 'NotSigned';
}

interface Output {
  filePath: string;
  sizeBytes: number;
  sha256: string;
}

interface Deps {
  credentials: CredentialsDeps | undefined;
  providerOf(task: Task): Provider;
  reconcileSeconds: number;
}

/**
 * Signs a fetched output. It is stored unsigned, and its task says so, if it can't be signed, if
 * `onFailure` is `unsigned` and signing kept failing, or if the provider may soon delete it.
 * @throws a failure that may pass; NotSigned when it lasts
 */
export async function addCredentials(
  deps: Deps,
  task: Task,
  { signedPath, ...output }: Output & { signedPath: string },
): Promise<Output & { credentials: Credentials }> {
  const unsigned = (credentials: Credentials) => ({ ...output, credentials });
  if (!deps.credentials) return unsigned({ kind: 'unsigned', why: 'off' });
  const { signer } = deps.credentials;
  const origin = originOf(deps, task, deps.credentials);
  try {
    const file = { path: output.filePath, signedPath, source: task.provider };
    const signing = await signer.sign(file, origin);
    if (signing.kind === 'unsigned') return unsigned(signing);
    const { sizeBytes, sha256, parent } = signing;
    return { filePath: signedPath, sizeBytes, sha256, credentials: signedBy(origin, parent) };
  } catch (error) {
    const next = afterFailure(deps, task);
    if (next === 'retry') throw error;
    if (next === 'hold') throw new NotSigned(`the output could not be signed: ${error}`);
    report('signing', { outcome: 'given_up', seconds: task.phase_seconds });
    return unsigned({ kind: 'unsigned', why: 'failed' });
  }
}

/** Signs the poster of a signed video. It is stored without a signature if that fails. */
export async function signPoster(
  deps: Deps,
  task: Task,
  { poster, signedPath, video }: { poster: OutputFile; signedPath: string; video: Credentials },
): Promise<OutputFile> {
  if (!deps.credentials || video.kind !== 'signed') return poster;
  const file = {
    path: poster.filePath,
    signedPath,
    source: task.provider,
    format: 'image/webp',
  } as const;
  const origin = originOf(deps, task, deps.credentials);
  const signing = await deps.credentials.signer.sign(file, origin).catch(() => undefined);
  if (signing?.kind !== 'signed') return poster;
  return { ...poster, filePath: signedPath, sizeBytes: signing.sizeBytes };
}

/** Counts from the acceptance, since a job may end long before its end is noticed. */
function afterFailure(deps: Deps, task: Task): 'retry' | 'hold' | 'store' {
  const safeSeconds = deps.providerOf(task).capabilities.outputLifeSeconds / 2;
  const leftSeconds = safeSeconds - (task.accepted_seconds ?? 0);
  const retrySeconds = leftSeconds > 0 ? RETRY_SECONDS : LATE_RETRY_SECONDS;
  if (task.phase_seconds < Math.min(retrySeconds, safeSeconds)) return 'retry';
  const waits = deps.credentials?.onFailure === 'wait';
  return waits && recheckDelaySeconds(deps, task) < leftSeconds ? 'hold' : 'store';
}

function originOf(
  deps: Deps,
  task: Task,
  { namesPrompt, namesInputs, generator }: CredentialsDeps,
): Origin {
  const { drawsPatterns } = deps.providerOf(task).capabilities;
  const { model, prompt } = task.request;
  return {
    source: drawsPatterns ? 'algorithmicMedia' : 'trainedAlgorithmicMedia',
    model,
    at: new Date(task.now_seconds * 1000).toISOString(),
    version: VERSION,
    ...(generator && { generator: generator() }),
    promptHash: namesPrompt ? hash('sha256', prompt) : null,
    // Files that were copied before `namesInputs` was switched on have no digest.
    ...(namesInputs && {
      inputs: task.inputs.flatMap(({ role, mediaType, sha256 }) =>
        sha256 === undefined ? [] : { role, mediaType, sha256 },
      ),
    }),
  };
}

function signedBy({ source, at }: Origin, parent: Parent): Credentials {
  return { kind: 'signed', isModel: source === 'trainedAlgorithmicMedia', at, parent };
}
