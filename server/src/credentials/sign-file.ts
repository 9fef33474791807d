/** The program of the child processes that add Content Credentials to files, one after the other. */
import { createHash, randomBytes } from 'node:crypto';
import { Readable } from 'node:stream';
import { serveParent } from '../kernel/child.ts';
import { writeStream } from '../kernel/scratch-directory.ts';
import { openByteSource } from '../media/byte-source.ts';
import { boxesOf, bytesOf, isManifest } from './bmff.ts';
import { FileBlob, loadC2pa, settings } from './c2pa.ts';
import { type Format, manifestOf, type Origin, PARENT_LABEL, type Parent } from './manifest.ts';
import { withMedia, withoutMedia } from './media-apart.ts';

/** The first input for a file; the second one is the signature of the claim that came back. */
export interface SignRequest {
  path: string;
  format: Format;
  origin: Origin;
  algorithm: string;
  reserveBytes: number;
}

const { WasmBuilder } = await loadC2pa();

/** Completes the file of the last claim with its signature. */
let complete = async (_signature: Buffer): Promise<object> => {
  throw new Error('there is no claim to sign');
};

await serveParent(async (input) => {
  const given = input as SignRequest | { signature: string }; // from signer.ts
  if ('signature' in given) return complete(Buffer.from(given.signature, 'base64'));
  return begin(given).catch((error) => {
    return { kind: 'unsupported', cause: String(error).slice(0, 300) };
  });
});

/**
 * Whether the provider's manifest is valid, whoever signed it.
 * @param definition an object, although the library's types say that it is a text
 */
function parentOf(definition: unknown): Parent {
  const ingredients: Ingredient[] = Object(definition).ingredients ?? [];
  const parent = ingredients.find(({ relationship }) => relationship === 'parentOf');
  const failures = parent?.validation_results?.activeManifest?.failure ?? [];
  const isValid = failures.every(({ code }) => code === 'signingCredential.untrusted');
  return parent?.active_manifest && isValid ? 'valid' : 'invalid';
}

interface Ingredient {
  relationship?: string;
  active_manifest?: string;
  validation_results?: { activeManifest?: { failure?: { code: string }[] } };
}

/** @returns the claim to be signed */
async function begin(request: SignRequest): Promise<object> {
  const { path, format, origin, algorithm, reserveBytes } = request;
  const file = openByteSource(path);
  const boxes = [...boxesOf(file)];
  const hasParent = boxes.some(isManifest);
  const definition = JSON.stringify(manifestOf(origin, format, hasParent));
  const builder = WasmBuilder.fromJson(definition, settings());
  let parent: Parent = 'none';
  if (hasParent) {
    const ingredient = JSON.stringify({ relationship: 'parentOf', label: PARENT_LABEL, format });
    // A manifest that can't be read is left out; the video is still named as the parent.
    await builder
      .addIngredientFromBlob(ingredient, format, new FileBlob(file))
      .catch(() => builder.addIngredient(ingredient));
    parent = parentOf(builder.getDefinition());
  }
  const placeholder = randomBytes(reserveBytes);
  let claim = Buffer.alloc(0);
  const sign = async (bytes: Uint8Array) => {
    claim = Buffer.from(bytes);
    return new Uint8Array(placeholder);
  };
  const signer = { alg: algorithm, reserveSize: reserveBytes, sign };
  const made = await builder.sign(signer, [], format, new FileBlob(withoutMedia(boxes)));
  builder.free();
  const signed = withMedia(
    { bytes: Buffer.from(made.buffer, made.byteOffset, made.length), claim, placeholder },
    boxes,
  );
  complete = async (signature) => {
    signed.insertSignature(signature);
    const digest = createHash('sha256');
    const parts = Readable.from(signed.boxes.values().flatMap(bytesOf));
    const sizeBytes = await writeStream(parts, `${path}-signed`, (part) => digest.update(part));
    file[Symbol.dispose]();
    return { kind: 'signed', sizeBytes, sha256: digest.digest('hex'), parent };
  };
  return { kind: 'claim', claim: signed.claim.toString('base64') };
}
