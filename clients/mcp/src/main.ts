#!/usr/bin/env node
import { realpathSync, statSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { Framewright, VERSION } from '@framewright/client';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { listen } from './listen.ts';
import { createServer } from './server.ts';

const HELP = `framewright-mcp: videos as tools of an MCP client

Usage: framewright-mcp [--files FOLDER]   speaks MCP on stdin and stdout
       framewright-mcp --http PORT        speaks streamable HTTP on 127.0.0.1:PORT/mcp; each
                                          request has its API key as bearer token

Options:
  --files FOLDER   the pictures and videos below it may be uploaded; without it, no file
  --help, --version

Environment:
  FRAMEWRIGHT_API_KEY    your API key (not needed with --http)
  FRAMEWRIGHT_BASE_URL   the API of your installation, such as https://videos.example.com/api/v1
`;

/** Prints why the program can't start, and exits. */
function fail(message: string): never {
  process.stderr.write(`framewright-mcp: ${message}\n`);
  process.exit(2);
}

function portOf(text: string): number {
  if (!/^\d{1,5}$/.test(text)) fail(`--http takes a port, not "${text}"`);
  return Number(text);
}

/** The --files folder with symbolic links resolved. */
function folderOf(path: string): string {
  if (statSync(path, { throwIfNoEntry: false })?.isDirectory()) return realpathSync(path);
  return fail(`--files takes a folder, not "${path}"`);
}

function readOptions() {
  try {
    return parseArgs({
      options: {
        files: { type: 'string' },
        http: { type: 'string' },
        help: { type: 'boolean' },
        version: { type: 'boolean' },
      },
    }).values;
  } catch (error) {
    return fail(`${error instanceof Error ? error.message : error}\nTry --help.`);
  }
}

async function serveHttp(port: number): Promise<void> {
  const url = await listen(port).catch((error) => fail(error.message));
  process.stderr.write(`Listening on ${url}\n`);
}

function serveSession(folder?: string): void {
  const files = { folder: folder === undefined ? undefined : folderOf(folder) };
  const client = openClient();
  serveStdio(() => createServer({ client, files }));
}

function openClient(): Framewright {
  try {
    return new Framewright();
  } catch (error) {
    return fail(error instanceof Error ? error.message : String(error));
  }
}

const { files, http, help, version } = readOptions();
if (help) process.stdout.write(HELP);
else if (version) process.stdout.write(`${VERSION}\n`);
else if (http !== undefined) await serveHttp(portOf(http));
else serveSession(files);
