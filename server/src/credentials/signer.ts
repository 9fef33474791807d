// The room credentials/: Content Credentials, the signed statement in a video that an AI model made
// it. This file signs, in child processes; c2pa.ts and bmff.ts know the format (decisions/0068).

import { rename } from 'node:fs/promises';
import { type Static, Type } from 'typebox';
import { Value } from 'typebox/value';
import type { ChildOutcome } from '../kernel/child.ts';
import { createFairSemaphore } from '../kernel/fair-semaphore.ts';
import type { ScratchDirectory } from '../kernel/scratch-directory.ts';
import { confinedProgram, createFileChildren } from '../media/children/file-children.ts';
import { report, secondsSince } from '../telemetry/reports.ts';
import { inSpan } from '../telemetry/tracing.ts';
import type { SigningCertificate } from './certificate.ts';
import { coseSign, reservedBytes } from './cose.ts';
import { type Format, type Origin, PARENTS } from './manifest.ts';
import type { SignRequest } from './sign-file.ts';

/** How many files are signed at a time. */
const CONCURRENCY = 2;
/** The limits of a child process that writes or reads a file's manifest. */
export const LIMITS = { timeoutSeconds: 120, memoryBytes: 512 * 2 ** 20 };

const strict = { additionalProperties: false };
/** What a child returns: first the claim, then what it has written. */
const Result = Type.Union([
  Type.Object({ kind: Type.Literal('claim'), claim: Type.String() }, strict),
  Type.Object(
    {
      kind: Type.Literal('signed'),
      sizeBytes: Type.Integer({ minimum: 1 }),
      sha256: Type.String({ pattern: '^[0-9a-f]{64}$' }),
      parent: Type.Enum(PARENTS),
    },
    strict,
  ),
  Type.Object(
    { kind: Type.Literal('unsupported'), cause: Type.String({ maxLength: 300 }) },
    strict,
  ),
]);

type Signed = Extract<Static<typeof Result>, { kind: 'signed' }>;

export type Signing =
  | (Signed & { isStamped: boolean })
  /** Signing this file again would fail in the same way. */
  | { kind: 'unsigned'; why: 'unsupported'; cause: string }
  | { kind: 'unsigned'; why: 'too_large' | 'too_slow' };

export type Signer = ReturnType<typeof createSigner>;

/**
 * Adds Content Credentials to videos in child processes, which have neither the key nor a network:
 * a child makes the claim and this process signs it.
 */
export function createSigner(deps: {
  scratch: ScratchDirectory;
  certificate(): SigningCertificate;
  /** Stamps a signature; undefined: there is no authority for it. */
  stamp?: ((signed: Uint8Array) => Promise<Buffer>) | undefined;
}) {
  const programFor = confinedProgram(new URL('./sign-file.ts', import.meta.url), 'writes');
  const children = createFileChildren({ scratch: deps.scratch, programFor });
  const turns = createFairSemaphore(CONCURRENCY);
  let noStampsBefore = 0;
  const signNow = async (file: GivenFile, origin: Origin): Promise<Signing> => {
    const { format = 'video/mp4' } = file;
    const isStamping = deps.stamp !== undefined && format === 'video/mp4';
    const certificate = deps.certificate();
    if (certificate.expiresAt.getTime() <= Date.parse(origin.at)) {
      throw new Error('the certificate of the Content Credentials has expired');
    }
    const { algorithm } = certificate;
    const reserveBytes = reservedBytes(certificate, isStamping);
    let isStamped = false;
    // A video without a time stamp is better than none. After a failure that took t seconds, the
    // authority is not asked for 3 t seconds: one that hangs then holds up few videos.
    const stamp = async (signed: Buffer) => {
      const askedAt = performance.now();
      if (!isStamping || askedAt < noStampsBefore) return undefined;
      const token = await deps.stamp?.(signed).catch(() => {
        noStampsBefore = performance.now() + 3 * (performance.now() - askedAt);
        return undefined;
      });
      isStamped = token !== undefined;
      return token;
    };
    const request = { format, origin, algorithm, reserveBytes } satisfies Omit<SignRequest, 'path'>;
    let result: Static<typeof Result> | undefined;
    const outcome = await children.run(file, {
      ...LIMITS,
      request,
      async answer(given, childPath) {
        result = Value.Parse(Result, given);
        if (result.kind === 'signed') await rename(`${childPath}-signed`, file.signedPath);
        if (result.kind !== 'claim') return undefined;
        const claim = Buffer.from(result.claim, 'base64');
        const signature = await coseSign(claim, certificate, { sizeBytes: reserveBytes, stamp });
        return { signature: signature.toString('base64') };
      },
      mayContinue: () => result?.kind === 'signed',
    });
    const signing = signingOf(outcome, result);
    return signing.kind === 'signed' ? { ...signing, isStamped } : signing;
  };
  return {
    /** Readies a child for a file of this source, expected within a minute. */
    prepare: children.prepare,
    close: children.close,
    /**
     * Writes a signed copy of a video or its poster to `file.signedPath`.
     * @throws for failures of the service; they may pass
     */
    sign(file: GivenFile, origin: Origin): Promise<Signing> {
      const sign = () => turns.run(file.source, undefined, () => signNow(file, origin));
      return file.format === 'image/webp' ? sign() : observed(deps.stamp !== undefined, sign);
    },
  };
}

interface GivenFile {
  path: string;
  signedPath: string;
  /** A poster gets no time stamp; `video/mp4` when not given. */
  format?: Format;
  /** Who made it: the name of a connection. Different sources never share a child. */
  source: string;
}

/** @param result the last one of the child */
function signingOf(
  outcome: ChildOutcome,
  result: Static<typeof Result> | undefined,
): Signed | Extract<Signing, { kind: 'unsigned' }> {
  switch (outcome.kind) {
    case 'completed':
      if (result?.kind === 'signed') return result;
      if (result?.kind !== 'unsupported') throw new Error('the signing child wrote no file');
      return { kind: 'unsigned', why: 'unsupported', cause: result.cause };
    case 'out_of_memory':
      return { kind: 'unsigned', why: 'too_large' };
    case 'timed_out':
      return { kind: 'unsigned', why: 'too_slow' };
    case 'crashed':
      throw new Error(`the signing child ended without a result: ${outcome.cause}`);
    case 'aborted':
      throw new Error('aborted');
  }
}

/** Reports to the metrics and the trace, with the wait for a free child. */
async function observed(stamps: boolean, sign: () => Promise<Signing>): Promise<Signing> {
  const startedAt = performance.now();
  let outcome: string = 'failed';
  try {
    const signing = await inSpan({ name: 'sign' }, sign);
    outcome = signing.kind === 'signed' ? signing.kind : signing.why;
    if (signing.kind === 'signed' && stamps && !signing.isStamped) outcome = 'unstamped';
    return signing;
  } finally {
    report('signing', { outcome, seconds: secondsSince(startedAt) });
  }
}
