import { readConfig } from '../config/config.ts';
import { createLog } from '../kernel/log.ts';
import { printFailure } from './print.ts';
import { runRoles } from './serve.ts';
import { stopRequest } from './stop-request.ts';

/** Runs one of several processes. `supervise.ts` starts it with its name: `api-1`, `worker`. */
async function serveOne(processName: string): Promise<number> {
  const config = readConfig();
  const log = createLog({ level: config.logLevel, process: processName });
  return runRoles(
    {
      ...config,
      roles: new Set([processName === 'worker' ? 'worker' : 'api']),
      metricsPort: undefined, // the supervisor serves everyone's metrics
    },
    {
      log,
      stop: stopRequest(log, { isChild: true }),
      processName,
      onStarted: async (_opened, url) => void process.send?.({ started: url ?? '' }),
    },
  );
}

try {
  // Without an exit, the channel to the supervisor would keep this process alive.
  process.exit(await serveOne(process.argv[2] ?? ''));
} catch (error) {
  process.exit(printFailure(error));
}
