import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { gunzipSync } from 'node:zlib';

/** A span as OTLP/JSON writes it. */
export interface ReceivedSpan {
  traceId: string;
  spanId: string;
  parentSpanId?: string;
  name: string;
  /** 1 internal, 2 server, 3 client. */
  kind: number;
  startTimeUnixNano: string;
  endTimeUnixNano: string;
  links?: { traceId: string; spanId: string }[];
  status?: { code?: number };
}

/** Receives traces over HTTP, as a collector does. */
export interface OtlpReceiver extends AsyncDisposable {
  url: string;
  spans(): ReceivedSpan[];
  /** The bodies of all exports, as text. */
  text(): string;
}

/** @param status of each response */
export async function openOtlpReceiver(status = 200): Promise<OtlpReceiver> {
  const bodies: string[] = [];
  const server = createServer(async (request, response) => {
    const bytes = await buffer(request);
    const isZipped = request.headers['content-encoding'] === 'gzip';
    bodies.push((isZipped ? gunzipSync(bytes) : bytes).toString());
    response.writeHead(status, { 'content-type': 'application/json' }).end('{}');
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    spans: () => bodies.flatMap(spansOf),
    text: () => bodies.join('\n'),
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

interface ExportedTraces {
  resourceSpans: { scopeSpans: { spans: ReceivedSpan[] }[] }[];
}

function spansOf(body: string): ReceivedSpan[] {
  const { resourceSpans }: ExportedTraces = JSON.parse(body);
  return resourceSpans.flatMap(({ scopeSpans }) => scopeSpans.flatMap(({ spans }) => spans));
}
