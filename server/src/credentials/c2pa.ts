import { readFileSync } from 'node:fs';
import init, { WasmBuilder, WasmReader } from '@contentauth/c2pa-wasm';
import type { ByteSource } from '../media/byte-source.ts';

/**
 * The library's settings: nothing is fetched.
 * @param anchors PEM of the issuers whose certificates are trusted
 */
export function settings(anchors = ''): string {
  return JSON.stringify({
    version: 1,
    verify: { verify_after_sign: false, remote_manifest_fetch: false, ocsp_fetch: false },
    ...(anchors !== '' && { trust: { user_anchors: anchors } }),
    builder: { thumbnail: { enabled: false } },
  });
}

/** Loads the library, which was made for browsers. */
export async function loadC2pa() {
  Object.assign(globalThis, { FileReaderSync });
  const wasm = new URL(import.meta.resolve('@contentauth/c2pa-wasm/c2pa.wasm'));
  await init({ module_or_path: readFileSync(wasm) });
  return { WasmBuilder, WasmReader };
}

/** The part of the browser's class with which the library reads a Blob. */
class FileReaderSync {
  readAsArrayBuffer(blob: FileBlob): ArrayBuffer {
    return blob.read();
  }
}

/** A file as the library takes it: read in parts, when they are needed. */
export class FileBlob extends Blob {
  readonly #file: ByteSource;
  readonly #start: number;
  readonly #end: number;

  constructor(file: ByteSource, start = 0, end = file.sizeBytes) {
    super();
    this.#file = file;
    this.#start = start;
    this.#end = end;
  }

  override get size(): number {
    return this.#end - this.#start;
  }

  override slice(from = 0, to = this.size): FileBlob {
    const end = Math.min(this.#start + to, this.#end);
    return new FileBlob(this.#file, Math.min(this.#start + from, end), end);
  }

  read(): ArrayBuffer {
    return new Uint8Array(this.#file.read(this.#start, this.size)).buffer;
  }
}
