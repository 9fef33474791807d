import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { unlinkSync } from 'node:fs';
import net from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { platform } from 'node:process';

/**
 * Where a lock is: a listening socket, because the system frees it when its process dies, however
 * that happens. Linux and Windows have names for sockets that are no files; elsewhere it is a file.
 */
function addressOf(name: string): string {
  const mark = `framewright-${createHash('sha256').update(name).digest('hex').slice(0, 24)}`;
  if (platform === 'win32') return `\\\\.\\pipe\\${mark}`;
  return platform === 'linux' ? `\0${mark}` : path.join(os.tmpdir(), `${mark}.sock`);
}

/**
 * Takes the lock of a file until this process ends.
 * @returns whether it was free
 */
export async function takeLock(file: string): Promise<boolean> {
  const address = addressOf(file);
  if (await listens(address)) return true;
  if (platform === 'linux' || platform === 'win32' || (await responds(address))) return false;
  // A socket that is a file outlives its process.
  unlinkSync(address);
  return listens(address);
}

async function listens(address: string): Promise<boolean> {
  const server = net.createServer((socket) => socket.destroy()).listen(address);
  return once(server, 'listening').then(
    () => {
      server.unref();
      return true;
    },
    () => false,
  );
}

async function responds(address: string): Promise<boolean> {
  const socket = net.connect(address);
  return once(socket, 'connect').then(
    () => {
      socket.destroy();
      return true;
    },
    () => false,
  );
}
