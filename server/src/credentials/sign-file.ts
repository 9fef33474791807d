/** The program of the child processes that add Content Credentials to files, one after the other. */
import { createHash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { serveParent } from '../kernel/child.ts';
import { openByteSource } from '../media/byte-source.ts';
import { hasManifest } from './bmff.ts';
import { FileBlob, loadC2pa, settings } from './c2pa.ts';
import { manifestOf, type Origin, PARENT, type Parent } from './manifest.ts';

/** The first input for a file; the second one is the signature of the claim that came back. */
export interface SignRequest {
  path: string;
  origin: Origin;
  algorithm: string;
  reserveBytes: number;
}

const FORMAT = 'video/mp4';
const { WasmBuilder } = await loadC2pa();

let continues = async (_signature: Uint8Array): Promise<object> => {
  throw new Error('there is no claim to sign');
};

await serveParent(async (input) => {
  const given = input as SignRequest | { signature: string }; // of signer.ts
  if ('signature' in given) return continues(Buffer.from(given.signature, 'base64'));
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
async function begin({ path, origin, algorithm, reserveBytes }: SignRequest): Promise<object> {
  const file = openByteSource(path);
  const blob = new FileBlob(file);
  const hasParent = hasManifest(file);
  const builder = WasmBuilder.fromJson(JSON.stringify(manifestOf(origin, hasParent)), settings());
  let parent: Parent = 'none';
  if (hasParent) {
    const ingredient = JSON.stringify({ relationship: 'parentOf', label: PARENT, format: FORMAT });
    // One that can't even be read is named without its manifest.
    await builder
      .addIngredientFromBlob(ingredient, FORMAT, blob)
      .catch(() => builder.addIngredient(ingredient));
    parent = parentOf(builder.getDefinition());
  }
  const claim = Promise.withResolvers<Uint8Array>();
  const signature = Promise.withResolvers<Uint8Array<ArrayBuffer>>();
  const sign = (bytes: Uint8Array) => {
    claim.resolve(bytes);
    return signature.promise;
  };
  const signer = { alg: algorithm, reserveSize: reserveBytes, sign };
  const signed = builder.sign(signer, [], FORMAT, blob);
  signed.catch(claim.reject);
  continues = async (bytes) => {
    signature.resolve(new Uint8Array(bytes));
    const result = await signed;
    file[Symbol.dispose]();
    builder.free();
    writeFileSync(`${path}-signed`, result, { mode: 0o600 });
    const sha256 = createHash('sha256').update(result).digest('hex');
    return { kind: 'signed', sizeBytes: result.length, sha256, parent };
  };
  return { kind: 'claim', claim: Buffer.from(await claim.promise).toString('base64') };
}
