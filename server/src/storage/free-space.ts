import { statfs } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { report } from '../telemetry/reports.ts';
import type { StorageSettings } from './open-storage.ts';

const MEGABYTE = 2 ** 20;

/** What is written to the disk. Each use must leave more space free than the next. */
export type SpaceUse = 'upload' | 'input' | 'output';

/**
 * What must stay free: a share of the disk, capped in bytes. What `output` leaves is for the
 * embedded database, which stops when it can't write its log.
 */
const FLOORS = {
  upload: { share: 0.4, bytes: 1024 * MEGABYTE },
  input: { share: 0.2, bytes: 256 * MEGABYTE },
  output: { share: 0.1, bytes: 128 * MEGABYTE },
} as const satisfies Record<SpaceUse, { share: number; bytes: number }>;

/** The floors of a disk with temporary files only: uploads leave room for the tasks' files. */
const FLOOR_OF_TEMPORARY = {
  upload: 'input',
  input: 'output',
  output: 'output',
} as const satisfies Record<SpaceUse, SpaceUse>;

export const MEASURE_SECONDS = 1;

interface Disk {
  freeBytes: number;
  floors: Record<SpaceUse, number>;
}

export class DiskFull extends Error {
  override name = 'DiskFull';

  constructor(use: SpaceUse, freeBytes: number) {
    super(`the disk is too full: ${freeBytes} bytes are left for files of the kind ${use}`);
  }
}

export type FreeSpace = ReturnType<typeof openFreeSpace>;

/** Promised bytes that no measurement includes yet. */
interface Pending {
  use: 'upload' | 'output';
  bytes: number;
  isDone: boolean;
}

interface DiskFolder {
  folder: string;
  /** False: objects are stored elsewhere; the disk has temporary files. */
  hasObjects: boolean;
}

/**
 * Tracks how much of the disk under DATA_DIR is free; one per process.
 * @param options.reservedBytes what the outputs of live tasks will need
 */
export function openFreeSpace(options: DiskFolder & { reservedBytes: () => Promise<number> }) {
  let disk: Disk | undefined;
  let reservedBytes = 0;
  const pendingBytes = { upload: 0, output: 0 };
  const pending = new Set<Pending>();
  const forget = (entry: Pending) => {
    if (pending.delete(entry)) pendingBytes[entry.use] -= entry.bytes;
  };
  const whilePending = async <T>(use: Pending['use'], bytes: number, work: () => Promise<T>) => {
    const entry = { use, bytes, isDone: false };
    pending.add(entry);
    pendingBytes[use] += bytes;
    try {
      const result = await work();
      entry.isDone = true;
      return result;
    } catch (error) {
      forget(entry);
      throw error;
    }
  };
  const requireFree = (use: SpaceUse, bytes: number) => {
    if (!disk) return;
    // An output uses what was reserved for it.
    const reserved = use === 'output' ? 0 : reservedBytes;
    const left = disk.freeBytes - reserved - disk.floors[use];
    if (left < bytes) throw new DiskFull(use, Math.max(0, left));
  };
  return {
    /** Measures the disk, and reads how many bytes the outputs of live tasks will need. */
    async refresh() {
      const done = [...pending].filter(({ isDone }) => isDone);
      const reserved = options.hasObjects ? options.reservedBytes() : Promise.resolve(0);
      const [measured, asked] = await Promise.allSettled([measureDisk(options), reserved]);
      if (measured.status === 'fulfilled') disk = measured.value;
      if (asked.status === 'fulfilled') reservedBytes = asked.value;
      if (disk) report('disk', { ...disk, reservedBytes });
      if (measured.status === 'rejected') throw measured.reason;
      if (asked.status === 'rejected') throw asked.reason;
      for (const entry of done) forget(entry);
    },
    /**
     * Runs an upload of this many bytes if the disk has room for them besides what is reserved. The
     * bytes count as used until a later refresh measures them. Makes no system call.
     * @throws DiskFull before the work begins
     */
    async withUploadSpace<T>(bytes: number, work: () => Promise<T>): Promise<T> {
      requireFree('upload', pendingBytes.output + pendingBytes.upload + bytes);
      return whilePending('upload', bytes, work);
    },
    /**
     * The same for a create whose task will store an output of this many bytes. It leaves the floor
     * of `input` free, so that the task's files can be stored too.
     */
    async withOutputSpace<T>(bytes: number, work: () => Promise<T>): Promise<T> {
      if (!options.hasObjects) return work(); // outputs are stored elsewhere
      // Uploads under way take no space from tasks: they end at their own floor.
      requireFree('input', pendingBytes.output + bytes);
      return whilePending('output', bytes, work);
    },
    /** Passes through the bytes to write. @throws DiskFull, once the disk is too full */
    async *whileFree(use: SpaceUse, bytes: AsyncIterable<Uint8Array>) {
      for await (const part of bytes) {
        requireFree(use, 0);
        yield part;
      }
    },
  };
}

/** A readiness check waits no longer than this for a disk that hangs. */
const RESPONSE_SECONDS = 2;

/**
 * Tells whether the disk with objects is too full to write anything, measured at each call; false
 * if it can't be measured. Undefined if the disk has no objects.
 */
export function diskCheck(config: {
  storage: StorageSettings;
  dataDir: string;
}): (() => Promise<boolean>) | undefined {
  if (config.storage.kind !== 'disk') return undefined;
  return async () => {
    const late = delay(RESPONSE_SECONDS * 1000, undefined, { ref: false });
    const measured = measureDisk({ folder: config.dataDir, hasObjects: true }).catch(
      () => undefined,
    );
    const disk = await Promise.race([measured, late]);
    return disk !== undefined && disk.freeBytes < disk.floors.output;
  };
}

export async function measureDisk({ folder, hasObjects }: DiskFolder): Promise<Disk> {
  const { bsize, blocks, bavail } = await statfs(folder).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT' || path.dirname(folder) === folder) throw error;
    return statfs(path.dirname(folder)); // DATA_DIR is made with the first file
  });
  const floorOf = (use: SpaceUse) => {
    const { share, bytes } = FLOORS[hasObjects ? use : FLOOR_OF_TEMPORARY[use]];
    return Math.min(bytes, Math.floor(share * blocks * bsize));
  };
  return {
    freeBytes: bavail * bsize,
    floors: { upload: floorOf('upload'), input: floorOf('input'), output: floorOf('output') },
  };
}
