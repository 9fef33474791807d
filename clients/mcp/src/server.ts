import { VERSION } from '@framewright/client';
import { McpServer } from '@modelcontextprotocol/server';
import type { Session } from './generate.ts';
import { TOOLS } from './tools.ts';

const INSTRUCTIONS =
  'These tools make videos and charge the credits of the user. Tell the price before you spend ' +
  'much. After any failure of generate_video call it again with the same request_id: it is ' +
  'charged once. Read a video that takes long with get_video.';

/** A server for one connection, or for one request over HTTP. */
export function createServer(session: Session): McpServer {
  const server = new McpServer(
    { name: 'framewright', title: 'Framewright', version: VERSION },
    { instructions: INSTRUCTIONS },
  );
  for (const tool of TOOLS) tool.register(server, session);
  return server;
}
