import { createAccount, hasNoAccounts } from '../accounts/accounts.ts';
import { createKey } from '../accounts/api-keys.ts';
import type { Config } from '../config/config.ts';
import { checkProviderAddresses } from '../config/provider-addresses.ts';
import type { Database } from '../database/database.ts';
import { createLog, type Log } from '../kernel/log.ts';
import { grant } from '../ledger/ledger.ts';
import { openConfiguredDatabase } from '../open-database.ts';
import { startService } from '../service.ts';
import { setTracer } from '../telemetry/tracing.ts';

const FIRST_ACCOUNT = 'you@localhost';
const FIRST_CREDITS = 10_000;

/**
 * Runs the service until SIGINT or SIGTERM.
 * @returns the exit code: 0 after a signal, 1 when the embedded database ended
 */
export async function serve(config: Config): Promise<number> {
  const log = createLog({ level: config.logLevel });
  const stop = stopRequest(log);
  checkProviderAddresses(config, log);
  const stopTracing = await startTracing(config, log);
  const opened = await openConfiguredDatabase(config, {
    log,
    migrates: true,
    report: (text) => log.info(`migrations: ${text}`),
    pool: { connections: config.databaseConnections },
  });
  opened.onExit((cause) => {
    log.fatal({ cause }, 'the embedded database ended; the service shuts down');
    stop.request(1);
  });
  try {
    const service = await startService(config, opened, log);
    try {
      if (service.url !== undefined) await welcome(config, opened.db, service.url);
      const code = await stop.requested;
      log.info('shutting down: finishing the steps under way');
      return code;
    } finally {
      await service.stop();
      log.info('stopped');
    }
  } finally {
    await opened.close();
    await stopTracing();
  }
}

/**
 * Switches tracing on if it is configured. The packages of OpenTelemetry are loaded only then.
 * @returns a function that sends the last spans
 */
async function startTracing({ tracing }: Config, log: Log): Promise<() => Promise<void>> {
  if (!tracing) return async () => {};
  const { openTracer } = await import('../telemetry/otel-tracer.ts');
  const tracer = openTracer(tracing, (cause) => {
    log.warn({ cause }, 'traces could not be sent: they are dropped');
  });
  setTracer(tracer);
  log.info({ sampler: tracing.sampler, ratio: tracing.ratio }, 'tracing is on');
  return async () => {
    setTracer(undefined);
    await tracer.close();
  };
}

/** The first SIGINT or SIGTERM drains and shuts down; the second one ends the process at once. */
function stopRequest(log: Log) {
  const { promise, resolve } = Promise.withResolvers<number>();
  let asked = false;
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.on(signal, () => {
      if (asked) {
        log.warn('second signal: exiting at once');
        process.exit(130);
      }
      asked = true;
      resolve(0);
    });
  }
  return { requested: promise, request: resolve };
}

/**
 * On the first start with the embedded database and the local renderer, creates an account with
 * credits and prints its API key once, on standard output. In this set-up, no video costs money.
 */
async function welcome(config: Config, db: Database, url: string): Promise<void> {
  const isTrial = config.databaseUrl === undefined && config.provider === 'local';
  if (!isTrial || !(await hasNoAccounts(db))) return;
  const accountId = await createAccount(db, FIRST_ACCOUNT);
  const reference = 'first-start';
  await grant(db, { accountId, credits: FIRST_CREDITS, kind: 'paid', reference });
  const { secret } = await createKey(db, { accountId, name: 'first start' });
  process.stdout.write(`
Framewright is running with its local renderer (test patterns, not an AI model).
An account ${FIRST_ACCOUNT} with ${FIRST_CREDITS} credits was created. Its API key, shown only now:

  ${secret}

Try it:

  curl -s ${url}/api/v1/video/generations \\
    -H "Authorization: Bearer ${secret}" \\
    -H "Content-Type: application/json" -H "Idempotency-Key: first-$(date +%s)" \\
    -d '{"prompt":"A lighthouse at dawn, waves below"}'

The response is a task. Read it at ${url}/api/v1/tasks/ID with the same Authorization header
until its status is completed, then open output.video_url. Ctrl-C stops the service.

`);
}
