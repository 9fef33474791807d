import { createReadStream } from 'node:fs';
import { writeStream } from '../kernel/scratch-directory.ts';
import type { FilePart } from './image/layout.ts';
import type { MediaFacts } from './measurement.ts';

/**
 * The file that providers get: the measured one, or a copy without the image's flaws, which we
 * tolerate but which break some programs.
 */
export async function copyWithoutFlaws(filePath: string, facts: MediaFacts): Promise<string> {
  if (facts.kind !== 'image' || facts.flaws === undefined) return filePath;
  const copyPath = `${filePath}-without-flaws`;
  await writeStream(without(filePath, facts.flaws), copyPath);
  return copyPath;
}

async function* without(filePath: string, flaws: FilePart[]): AsyncGenerator<Uint8Array> {
  let keptFrom = 0;
  for (const { from, to } of [...flaws, { from: Infinity, to: Infinity }]) {
    if (keptFrom < from) yield* createReadStream(filePath, { start: keptFrom, end: from - 1 });
    keptFrom = to;
  }
}
