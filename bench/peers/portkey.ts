import { access, mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { CHAT, type Peer, requestText } from './peer.ts';
import { install, startPeer } from './processes.ts';

const VERSION = '1.15.2';
const SERVER = 'portkey/node_modules/@portkey-ai/gateway/build/start-server.js';

export const portkey: Peer = {
  name: 'Portkey gateway',
  version: VERSION,
  durable: 'nothing',
  async install(folder) {
    if (
      await access(path.join(folder, SERVER)).then(
        () => true,
        () => false,
      )
    )
      return undefined;
    try {
      await mkdir(path.join(folder, 'portkey'), { recursive: true });
      await writeFile(path.join(folder, 'portkey/package.json'), '{"private":true}');
      const wanted = [`@portkey-ai/gateway@${VERSION}`];
      const options = ['install', '--ignore-scripts', '--no-audit', '--no-fund'];
      await install('npm', [...options, ...wanted], path.join(folder, 'portkey'));
      return undefined;
    } catch (error) {
      return `npm can't install it: ${String(error).slice(0, 200)}`;
    }
  },
  async start({ folder, upstreamUrl, port }) {
    const server = path.join(folder, SERVER);
    const url = `http://127.0.0.1:${port}/`;
    const env = { NODE_ENV: 'production' };
    const running = await startPeer([process.execPath, server, `--port=${port}`, '--headless'], {
      cwd: folder,
      env,
      url,
    });
    const headers = {
      authorization: 'Bearer none',
      'x-portkey-provider': 'openai',
      'x-portkey-custom-host': `${upstreamUrl}/v1`,
    };
    return {
      ...running,
      requests: {
        read: undefined,
        create: requestText({ method: 'POST', path: '/v1/chat/completions', port, headers }, CHAT),
      },
      overspend: async () => 'it has no budgets',
      [Symbol.asyncDispose]: () => running[Symbol.asyncDispose](),
    };
  },
};
