import type { HttpClientsLoad, HttpClientsSetup } from './http-clients.ts';
import { type Program, startProgram } from './program.ts';
import type { Sample } from './sample.ts';

/** Clients of the API in a process of their own. */
export type Clients = Program<HttpClientsLoad, Sample>;

export function startClients(setup: HttpClientsSetup): Promise<Clients> {
  return startProgram<HttpClientsSetup, HttpClientsLoad, Sample>('http-clients.ts', setup);
}
