#!/usr/bin/env node
import { pipeline } from 'node:stream/promises';
import { type ParsedCommandLine, parseCommandLine } from './cli/command-line.ts';
import { helpText } from './cli/help.ts';
import { printFailure, printPlain, printRows } from './cli/print.ts';
import type { Database } from './database/database.ts';
import { UsageError } from './kernel/errors.ts';
import { createLog } from './kernel/log.ts';
import { VERSION } from './kernel/version.ts';
import { RowStream } from './operator/verb/verb.ts';

// Loaded lazily, so that --help and usage errors are fast.
async function runCommand(parsed: ParsedCommandLine): Promise<number> {
  const { readDatabaseConfig } = await import('./config/command-config.ts');
  const config = readDatabaseConfig();
  const { openConfiguredDatabase } = await import('./open-database.ts');
  const opened = await openConfiguredDatabase(config, {
    log: createLog({ level: 'silent' }),
    migrates: parsed.verb.migrates === true,
    mustExist: !parsed.verb.createsDatabase,
    report: (text) => {
      if (!parsed.json) process.stderr.write(`framewright: ${text}\n`);
    },
  });
  try {
    if (opened.created && !parsed.json) {
      process.stderr.write(`framewright: created a new embedded database in ${config.dataDir}\n`);
    }
    const { json } = parsed;
    const show = json ? undefined : (line: string) => void process.stdout.write(`${line}\n`);
    const result = await parsed.run({
      db: opened.db,
      show,
      openStorage: configuredStorage,
      openSetUp: configuredSetUp,
      listVendorModels: vendorModels,
      fixedBrand: brandOfVariables,
    });
    if (result instanceof RowStream) await printStream(printRows(result, json));
    else process.stdout.write(json ? `${JSON.stringify(result)}\n` : printPlain(result));
    hintAtNextPage(parsed, result);
    const failed = typeof result === 'object' && result !== null && 'ok' in result && !result.ok;
    return failed ? 1 : 0;
  } finally {
    await opened.close();
  }
}

async function configuredStorage() {
  const { readStorageSettings } = await import('./config/command-config.ts');
  const { openStorage } = await import('./storage/open-storage.ts');
  return openStorage(readStorageSettings(), createLog({ level: 'silent' }));
}

async function configuredSetUp(db: Database, mailTo: string | undefined) {
  const { readConfig } = await import('./config/config.ts');
  const { openSetUp } = await import('./set-up.ts');
  return openSetUp(readConfig(), db, { mailTo });
}

async function vendorModels(provider: string, connection?: string) {
  const { readVendorModels } = await import('./config/command-config.ts');
  return readVendorModels(provider, connection);
}

async function brandOfVariables() {
  const { readBrandVariables } = await import('./config/command-config.ts');
  return readBrandVariables();
}

/** Exits quietly when the reader closes the pipe, as `head` does. */
async function printStream(pieces: AsyncIterable<string>): Promise<void> {
  try {
    await pipeline(pieces, process.stdout, { end: false });
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EPIPE')) throw error;
  }
}

function hintAtNextPage({ verb, page }: ParsedCommandLine, result: unknown): void {
  if (!verb.cursorOf || !Array.isArray(result) || result.length < page.limit) return;
  const after = verb.cursorOf(result.at(-1));
  process.stderr.write(`framewright: there may be more rows: add --after ${after}\n`);
}

async function runService(args: string[]): Promise<number> {
  if (args.length > 0) throw new UsageError('usage: npx --no-install framewright serve');
  const { readConfig, useFileThreads } = await import('./config/config.ts');
  useFileThreads();
  const config = readConfig();
  const { serve } = await import('./cli/serve.ts');
  return serve(config);
}

async function run(args: string[]): Promise<number> {
  const [first] = args;
  if (first === undefined || first === 'help' || args.includes('--help') || args.includes('-h')) {
    const words = args.filter((arg) => !arg.startsWith('-') && arg !== 'help');
    process.stdout.write(await helpText(words));
    return first === undefined ? 2 : 0;
  }
  if (first === '--version' && args.length === 1) {
    process.stdout.write(`${VERSION}\n`);
    return 0;
  }
  if (first === 'serve') return runService(args.slice(1));
  const code = await runCommand(await parseCommandLine(args));
  // `doctor` may have given up a call that still waits for its response.
  process.stdout.write('', () => process.exit(code));
  return code;
}

try {
  process.exitCode = await run(process.argv.slice(2));
} catch (error) {
  process.exitCode = printFailure(error);
}
