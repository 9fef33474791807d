/** The program of the child process that reads the Content Credentials of one file. */
import { serveParent } from '../kernel/child.ts';
import { openByteSource } from '../media/byte-source.ts';
import { hasManifest } from './bmff.ts';
import { FileBlob, loadC2pa, settings } from './c2pa.ts';

await serveParent(async (input) => {
  const { path, anchors } = input as { path: string; anchors: string }; // from read-credentials.ts
  using file = openByteSource(path);
  if (!hasManifest(file)) return null;
  const { WasmReader } = await loadC2pa();
  const reader = await WasmReader.fromBlob('video/mp4', new FileBlob(file), settings(anchors));
  return JSON.parse(reader.json());
});
