import { writeSync } from 'node:fs';
import { readConfig } from '../../src/config/config.ts';
import { createLog } from '../../src/kernel/log.ts';
import { openConfiguredDatabase } from '../../src/open-database.ts';
import { startService } from '../../src/service.ts';
import { withCrashPoints } from './crash-points.ts';

// The real service on a database that kills the process, or pauses it (CRASH_SIGNAL=SIGSTOP), at
// point CRASH_AT of the request whose Idempotency-Key is CRASH_KEY.
const config = readConfig();
const log = createLog({ level: config.logLevel });
const opened = await openConfiguredDatabase(config, { log, migrates: true });
const db = withCrashPoints(opened.db, {
  key: process.env.CRASH_KEY ?? '',
  at: process.env.CRASH_AT ?? '',
  signal: process.env.CRASH_SIGNAL === 'SIGSTOP' ? 'SIGSTOP' : 'SIGKILL',
  // At once: the process may end or stop before its log is written.
  onPoint: (point, name) => writeSync(1, `${JSON.stringify({ point, name })}\n`),
});
const service = await startService(config, { ...opened, db }, log);
process.once('SIGTERM', () => void service.stop().then(opened.close));
