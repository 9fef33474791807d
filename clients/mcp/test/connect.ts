import path from 'node:path';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';

export const MAIN = path.join(import.meta.dirname, '../src/main.ts');

export type ClientOptions = ConstructorParameters<typeof Client>[1];

/** A client of the server at an address. */
export async function connectOverHttp(
  url: string,
  apiKey: string,
  options: ClientOptions = {},
): Promise<Client> {
  const client = new Client({ name: 'test', version: '1' }, options);
  const requestInit = { headers: { authorization: `Bearer ${apiKey}` } };
  await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit }));
  return client;
}

/** A client of a server of its own on this machine. */
export async function connectOverStdio(
  env: Record<string, string>,
  args: string[] = [],
): Promise<Client> {
  return connectToProgram({ command: process.execPath, args: [MAIN, ...args], env });
}

/** Starts a program that is an MCP server, perhaps after installing it. @returns its client */
export async function connectToProgram(
  program: ConstructorParameters<typeof StdioClientTransport>[0],
): Promise<Client> {
  const client = new Client({ name: 'test', version: '1' });
  await client.connect(new StdioClientTransport(program), { timeout: 180_000 });
  return client;
}
