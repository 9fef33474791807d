import { realpath } from 'node:fs/promises';
import path from 'node:path';
import { type Static, Type } from 'typebox';
import { Value } from 'typebox/value';
import { runChild } from '../kernel/child.ts';
import { confinedProgram } from '../media/children/file-children.ts';
import { certificatesIn } from './certificate.ts';
import { LIMITS } from './signer.ts';

const Action = Type.Object({
  action: Type.String(),
  when: Type.Optional(Type.String()),
  softwareAgent: Type.Optional(Type.Object({ name: Type.String() })),
  digitalSourceType: Type.Optional(Type.String()),
});
/** The parts of the library's report that are shown. */
const Report = Type.Object({
  validation_state: Type.Enum(['Trusted', 'Valid', 'Invalid']),
  validation_status: Type.Optional(Type.Array(Type.Object({ code: Type.String() }))),
  active_manifest: Type.String(),
  manifests: Type.Record(
    Type.String(),
    Type.Object({
      claim_generator_info: Type.Array(
        Type.Object({ name: Type.String(), version: Type.Optional(Type.String()) }),
      ),
      signature_info: Type.Object({
        issuer: Type.Optional(Type.String()),
        cert_serial_number: Type.String(),
      }),
      assertions: Type.Array(
        Type.Object({
          label: Type.String(),
          data: Type.Object({ actions: Type.Optional(Type.Array(Action)) }),
        }),
      ),
    }),
  ),
});

/**
 * Reads the Content Credentials of a file in a child process.
 * @param chains PEM of the certificates of this service, each with its issuers
 * @returns null if it has none
 * @throws Error when they can't be read
 */
export async function readCredentials(file: string, chains: string[]) {
  const certificates = chains.map(certificatesIn);
  const anchors = certificates.flatMap(([, ...issuers]) => issuers.map(String)).join('');
  const filePath = await realpath(file);
  const program = confinedProgram(new URL('./read-manifest.ts', import.meta.url));
  const outcome = await runChild({
    ...program(path.dirname(filePath)),
    ...LIMITS,
    input: { path: filePath, anchors },
  });
  if (outcome.kind !== 'completed') {
    const cause = outcome.kind === 'crashed' ? outcome.cause : outcome.kind;
    throw new Error(`the Content Credentials can not be read: ${cause}`);
  }
  if (outcome.result === null) return null;
  const serials = certificates.map(([own]) => BigInt(`0x${own?.serialNumber}`).toString());
  return summaryOf(Value.Parse(Report, outcome.result), serials);
}

/** @param serials the serial numbers of this service's certificates */
function summaryOf(report: Static<typeof Report>, serials: string[]) {
  const active = report.manifests[report.active_manifest];
  if (!active) throw new Error('the Content Credentials have no active manifest');
  const { issuer, cert_serial_number: serial } = active.signature_info;
  const [first] = active.assertions.flatMap(({ data }) => data.actions ?? []);
  return {
    /** Whether this service signed it, and nobody changed it since. */
    is_ours: report.validation_state === 'Trusted' && serials.includes(serial),
    state: report.validation_state,
    problems: (report.validation_status ?? []).map(({ code }) => code),
    generator: active.claim_generator_info.map(({ name, version = '' }) => `${name} ${version}`),
    issuer,
    action: first?.action,
    model: first?.softwareAgent?.name,
    source: first?.digitalSourceType?.split('/').at(-1),
    at: first?.when,
  };
}
