import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { controlCalls, type RequestLine } from './control.ts';
import { reset, respond, type SimulatedResponse } from './exchange.ts';
import { createFaultSource, type Fault, isExchangeFault } from './faults.ts';
import { closeServer, listenOn } from './http-server.ts';
import { readOptions, type SimulatorOptions } from './options.ts';
import type { BaseJob } from './record.ts';
import type { SimulatedCall, Simulation } from './simulation.ts';

/**
 * Runs a simulator: reads the command line, prints one line with its address and
 * serves until a signal (or the end of standard input, if asked) ends it.
 */
export async function runSimulator<Job extends BaseJob>(
  name: string,
  simulate: (options: SimulatorOptions) => Simulation<Job>,
): Promise<void> {
  const options = readOptions(name);
  const running = await serveSimulation(simulate(options), options);
  console.log(`${name} simulator listens at ${running.url}`);
  const end = () => void running.close().then(() => process.exit(0));
  process.once('SIGTERM', end);
  process.once('SIGINT', end);
  if (options.untilStdinEnds) process.stdin.resume().once('end', end);
}

/** Serves a simulation and its control calls (see the README) on the port of the options. */
async function serveSimulation<Job extends BaseJob>(
  simulation: Simulation<Job>,
  options: SimulatorOptions,
) {
  const faults = createFaultSource();
  const lines: RequestLine[] = [];
  const control = controlCalls(simulation, faults, lines);
  const server = createServer(async (request, response) => {
    response.on('error', () => {}); // a client may disconnect at any time
    const url = new URL(request.url ?? '/', 'http://simulator');
    const call = findCall([...control, ...simulation.calls], request.method ?? '', url);
    if (!call) return respond([], { ...simulation, response, work: notFound });
    if (control.includes(call)) return serve(call, request, { url, response, take: () => [] });
    lines.push({ call: call.name, method: call.method, path: url.pathname, at: Date.now() });
    if (faults.takeBeforeBody(call.name, url.pathname + url.search)) return reset(response);
    const take = (body: Buffer) => faults.take(call.name, url.pathname + url.search + body);
    return serve(call, request, { url, response, take });
  });

  async function serve(
    call: SimulatedCall,
    request: IncomingMessage,
    rest: { url: URL; response: ServerResponse; take: (body: Buffer) => Fault[] },
  ): Promise<void> {
    const body = await buffer(request).catch(() => undefined);
    if (body === undefined) return; // the client disconnected before the body was complete
    const taken = rest.take(body);
    const quirks = taken.filter((fault) => !isExchangeFault(fault));
    const groups = (call.path.exec(rest.url.pathname) ?? []).slice(1).map(decodeURIComponent);
    const { headers } = request;
    const work = () => call.work({ url: rest.url, groups, headers, body, quirks });
    await respond(taken, { response: rest.response, work, refuse: simulation.refuse });
  }

  server.keepAliveTimeout = 5000; // as Node's servers: shorter ones are closed by clients at once
  return { url: await listenOn(server, options), close: () => closeServer(server) };
}

function findCall(calls: SimulatedCall[], method: string, url: URL): SimulatedCall | undefined {
  const matches = calls.filter(({ path }) => path.exec(url.pathname)?.[0] === url.pathname);
  return matches.find((call) => call.method === method);
}

function notFound(): SimulatedResponse {
  return { status: 404, json: { error: { code: 'NotFound', message: 'no such call' } } };
}
