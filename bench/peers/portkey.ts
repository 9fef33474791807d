import { existsSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { CHAT, CHAT_PATH, type Peer, requestText } from './peer.ts';
import { install, startPeer } from './start-peer.ts';

const VERSION = '1.15.2';
const SERVER = 'portkey/node_modules/@portkey-ai/gateway/build/start-server.js';

export const portkey: Peer = {
  name: 'Portkey gateway',
  version: VERSION,
  durable: 'nothing',
  async install(folder) {
    if (existsSync(path.join(folder, SERVER))) return;
    const home = path.join(folder, 'portkey');
    await mkdir(home, { recursive: true });
    await writeFile(path.join(home, 'package.json'), '{"private":true}');
    const options = ['--ignore-scripts', '--no-audit', '--no-fund'];
    await install('npm', ['install', ...options, `@portkey-ai/gateway@${VERSION}`], home);
  },
  async start({ folder, upstreamUrl, port }) {
    const server = path.join(folder, SERVER);
    const url = `http://127.0.0.1:${port}/`;
    const options = { cwd: folder, env: { NODE_ENV: 'production' }, url };
    const command = [process.execPath, server, `--port=${port}`, '--headless'] as const;
    const running = await startPeer(command, options);
    const headers = {
      authorization: 'Bearer none',
      'x-portkey-provider': 'openai',
      'x-portkey-custom-host': `${upstreamUrl}/v1`,
    };
    return {
      ...running,
      requests: {
        read: undefined,
        create: requestText(port, CHAT_PATH, headers, CHAT),
      },
      overspend: async () => 'it has no budgets',
    };
  },
};
