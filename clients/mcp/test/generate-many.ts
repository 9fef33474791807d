import { existsSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Framewright } from '@framewright/client';
import type { Client } from '@modelcontextprotocol/client';
import { connectOverStdio } from './connect.ts';

// A program that may be killed at any time: `generate-many.ts FOLDER FIRST LAST`. It makes a video
// for each order by the tools, as a model would, that calls again after each error.

const [folder = '', first, last] = process.argv.slice(2);
const keys = (process.env.FRAMEWRIGHT_TEST_KEYS ?? '').split(',');
const ORDERS_OF_SESSION = 4;
const { FRAMEWRIGHT_BASE_URL = '' } = process.env;

/** Calls a tool until it succeeds. @returns its data */
async function insist(client: Client, name: string, input: Record<string, unknown>) {
  for (;;) {
    const { isError, structuredContent } = await client.callTool({ name, arguments: input });
    // biome-ignore lint/suspicious/noExplicitAny: the data of any tool
    if (!isError) return structuredContent as any;
    await delay(500);
  }
}

async function make(client: Client, order: number): Promise<string> {
  const request_id = `mcp-order-${order}`;
  const request = { prompt: 'A paper boat', model: 'video-2.0-mini', resolution: '480p' };
  let task = await insist(client, 'generate_video', { ...request, duration: 4, request_id });
  while (task.status === 'processing') {
    task = await insist(client, 'get_video', { task_id: task.id });
  }
  return task.id;
}

let apiKey = '';
let client: Client | undefined;
for (let order = Number(first); order <= Number(last); order++) {
  const file = path.join(folder, `mcp:mcp-${order}.mp4`);
  if (existsSync(file)) continue;
  if ((order - 1) % ORDERS_OF_SESSION === 0 || !client) {
    await client?.close();
    apiKey = keys[order % keys.length] ?? '';
    client = await connectOverStdio({ FRAMEWRIGHT_API_KEY: apiKey, FRAMEWRIGHT_BASE_URL });
  }
  const id = await make(client, order);
  await new Framewright({ apiKey }).videos.download(id, file); // it appears when it is whole
}
await client?.close();
