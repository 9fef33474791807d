/** A program that downloads files and decodes all of them, without a service around it. */
import { createWriteStream } from 'node:fs';
import { rm } from 'node:fs/promises';
import * as https from 'node:https';
import path from 'node:path';
import { pipeline } from 'node:stream/promises';
import { decodeByHand } from '../../server/test/media/decode-by-hand.ts';
import { serveRequests } from '../program.ts';

export interface IngestFloorSetup {
  urls: string[];
  /** The certificate of the authority that signed the host's, in PEM. */
  ca: string;
  folder: string;
}

/** The service downloads all files at once, and decodes two at a time; so does this program. */
const DECODES = 2;

serveRequests<IngestFloorSetup, object, number>(async ({ urls, ca, folder }) => ({
  async handle() {
    const start = performance.now();
    const waiting = urls.map((url, i) => download(url, ca, path.join(folder, String(i))));
    const decodeInTurn = async () => {
      for (let next = waiting.shift(); next; next = waiting.shift()) {
        const file = await next;
        await decodeByHand(file);
        await rm(file);
      }
    };
    await Promise.all(Array.from({ length: DECODES }, decodeInTurn));
    return (performance.now() - start) / 1000;
  },
  close: async () => {},
}));

async function download(url: string, ca: string, file: string): Promise<string> {
  const body = await new Promise<NodeJS.ReadableStream>((resolve, reject) => {
    https.get(url, { ca }, resolve).on('error', reject);
  });
  await pipeline(body, createWriteStream(file));
  return file;
}
