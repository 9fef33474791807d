import { readFile } from 'node:fs/promises';
import { Readable } from 'node:stream';
import type { Measurer } from '../../src/media/measure.ts';
import type { Measurement, MediaFacts } from '../../src/media/measurement.ts';
import type { GuardedFetch, GuardedPost } from '../../src/outbound/guarded-fetch.ts';
import { OutboundError } from '../../src/outbound/refusal.ts';
import type { Links } from '../../src/storage/links.ts';
import { ObjectMissing, type Storage } from '../../src/storage/storage.ts';
import type { WakeUps } from '../../src/tasks/wake-ups.ts';
import type { Random } from '../random.ts';
import { VIDEO_FACTS } from '../task-fixtures.ts';
import { ConnectionLost, type Process } from './scheduler/process.ts';

/** What the URLs of clients lead to. */
export const PICTURES = ['good', 'damaged', 'gone'] as const;

export function pictureUrl(picture: (typeof PICTURES)[number]): string {
  return `https://media.test/${picture}`;
}

/** A guarded fetch that returns the last part of the URL's path as the file's content. */
export function guardedFetchOf(process: Process): GuardedFetch {
  return {
    download: (url) =>
      process.unit({ label: () => `download ${url}` }, async (fault) => {
        if (fault === 'refused') throw new ConnectionLost();
        const content = url.slice(url.lastIndexOf('/') + 1);
        if (content === 'gone') throw new OutboundError('not_reachable', 'It is not there');
        return Readable.from([Buffer.from(content)]);
      }),
    close: async () => {},
  };
}

const PICTURE: MediaFacts = { kind: 'image', mediaType: 'image/png', width: 1280, height: 720 };
const DAMAGED: Measurement = { kind: 'refused', reason: 'undecodable', explanation: 'Damaged.' };

/** A measurer that reads the result from the file, whose content is a word. */
export function measurerOf(process: Process): Measurer {
  return {
    prepare: () => {},
    close: async () => {},
    measure: (path, expected) =>
      process.unit({ label: () => `measure ${expected}` }, async (fault) => {
        if (fault === 'refused') throw new Error('the media child ended without a result');
        const content = await readFile(path, 'utf8');
        const facts = expected === 'image' ? PICTURE : VIDEO_FACTS;
        return content === 'damaged' ? DAMAGED : { kind: 'measured', facts };
      }),
  };
}

/** A storage of ids alone; `storedObjects` outlives the process. */
export function storageOf(process: Process, storedObjects: Set<string>): Storage {
  const act = (what: string, work: () => void) =>
    process.unit({ label: () => `${what} an object` }, async (fault) => {
      if (fault === 'refused') throw new Error('no space left on device');
      work();
    });
  return {
    put: (objectId) => act('put', () => storedObjects.add(objectId)),
    sizeOf: async (objectId) => (storedObjects.has(objectId) ? 0 : undefined),
    delete: (objectId) => act('delete', () => storedObjects.delete(objectId)),
    open: async (objectId) => {
      if (!storedObjects.has(objectId)) throw new ObjectMissing(objectId);
      return Readable.from([]);
    },
  };
}

/** A service that moderates; asked again about a task, it may say something else. */
export function moderatorOf(process: Process, random: Random): GuardedPost {
  const respond = async () => {
    const verdict = random.weighted({ allow: 0.7, deny: 0.1, review: 0.2 });
    return { status: 200, start: JSON.stringify({ verdict }) };
  };
  return {
    post: () =>
      process.unit({ label: () => 'moderate' }, respond).catch(() => {
        throw new OutboundError('not_reachable', 'It is down');
      }),
  };
}

/** Links without signatures. */
export const LINKS: Links = {
  linkTo: (objectId) => `https://media.test/media/${objectId}`,
  briefLinkTo: (objectId) => `https://media.test/media/${objectId}`,
  inputLinkTo: async (objectId) => `https://media.test/media/${objectId}`,
  expiryOf: () => Number.MAX_SAFE_INTEGER,
  linkToSetUp: () => ({ url: '', signature: '' }),
  proofOf: () => '',
  isProof: () => false,
  callbackTo: (provider, attemptId) => `https://media.test/callbacks/${provider}/${attemptId}`,
  attemptOf: (_provider, segment) => segment,
  shareToken: (id) => id,
  shareOf: (token) => token,
};

/** Loses all wake-ups: workers must find due tasks by their rows. */
export const LOST_WAKE_UPS: WakeUps = { send: () => {}, listen: () => {} };
