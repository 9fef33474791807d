import type { FastifyInstance } from 'fastify';
import { UsageError } from '../kernel/errors.ts';

/**
 * Starts listening and returns the URL; closes the server if it can't.
 * @param address.variable the variable that sets the port
 * @throws UsageError
 */
export async function listen(
  app: FastifyInstance,
  { host, port, variable }: { host: string; port: number; variable: string },
): Promise<string> {
  try {
    return await app.listen({ host, port });
  } catch (error) {
    await app.close();
    if (!(error instanceof Error && 'code' in error)) throw error;
    const isTaken = error.code === 'EADDRINUSE';
    const cause = isTaken ? 'the port is in use' : error.message;
    const remedy = isTaken ? `Set ${variable} to another port.` : `Check HOST and ${variable}.`;
    throw new UsageError(`can't listen on ${host} port ${port}: ${cause}. ${remedy}`);
  }
}
