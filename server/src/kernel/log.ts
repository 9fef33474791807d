import { styleText } from 'node:util';
import { type Logger, pino } from 'pino';
import { traceFields } from '../telemetry/tracing.ts';
import { visibleLines, visibleText } from './text/visible-text.ts';

export type Log = Logger;

const LEVELS: Record<number, [string, 'gray' | 'green' | 'yellow' | 'red']> = {
  10: ['trace', 'gray'],
  20: ['debug', 'gray'],
  30: ['info', 'green'],
  40: ['warn', 'yellow'],
  50: ['error', 'red'],
  60: ['fatal', 'red'],
};

/** Fields that are redacted, at the top level and up to two levels below it. */
const SECRET_FIELDS = ['authorization', 'secret', 'password', 'databaseUrl', 'apiKey'];

/**
 * The service's log: JSON lines, or short coloured ones in a terminal, with secrets redacted. While
 * tracing is on, a line about work in a trace has `trace_id` and `span_id`.
 * @param options.process the name of the process in each line, when one start runs several
 */
export function createLog(options: {
  level: string;
  terminal?: boolean;
  process?: string | undefined;
}): Log {
  const terminal = options.terminal ?? process.stdout.isTTY === true;
  return pino(
    {
      level: options.level,
      base: options.process === undefined ? null : { process: options.process },
      mixin: traceFields,
      redact: {
        paths: SECRET_FIELDS.flatMap((field) => [field, `*.${field}`, `*.*.${field}`]),
        censor: '[redacted]',
      },
    },
    { write: (line: string) => write(terminal ? readable(redact(line)) : redact(line)) },
  );
}

let isCorked = false;

/** Writes the lines of one tick, such as those of shared work, in a single system call. */
function write(line: string): void {
  if (!isCorked) {
    isCorked = true;
    process.stdout.cork();
    process.nextTick(uncork);
  }
  process.stdout.write(line);
}

function uncork(): void {
  if (!isCorked) return;
  isCorked = false;
  process.stdout.uncork();
}

process.on('exit', uncork);

// These match their characters as they are, or percent-encoded once or repeatedly.
const EQUALS = '(?:=|%(?:25)*3D)';
const SLASH = '(?:/|%(?:25)*2F)';
const BEFORE_NAME = '(?:[?&]|%(?:25)*(?:3F|26))';

/** How secrets begin; the following characters of the given set are redacted. */
const SECRETS = [
  '(whsec_)[0-9A-Za-z+/=%_-]+',
  `(framewright(?:-start)?${EQUALS})[\\w%-]+`, // cookies
  `(signature${EQUALS})[\\w%.-]+`,
  `(${BEFORE_NAME}code${EQUALS})[\\w%.~/+-]+`,
  `(${SLASH}callbacks${SLASH})[\\w./%-]+`,
  `(${SLASH}(?:s|embed)${SLASH}\\w{24})[\\w-]{22}`, // shares
  // API keys, also of Stripe and providers. Last, since other secrets may contain `r8_`.
  '((?:fw|sk|rk)_(?:live|test)_|r8_|sk-or-v1-)[0-9A-Za-z]+',
].map((secret) => new RegExp(secret, 'gi'));

/** Replaces all {@link SECRETS} and the passwords in URLs of databases and mail servers. */
export function redact(text: string): string {
  return SECRETS.reduce((rest, secret) => rest.replace(secret, '$1[redacted]'), text).replace(
    /((?:postgres(?:ql)?|smtps?):\/\/[^:@/\s"]{0,500}:)[^\s"]{1,500}@/gi,
    '$1[redacted]@',
  );
}

function readable(line: string): string {
  const { level, time, msg, err, ...rest } = JSON.parse(line);
  const [name, colour] = LEVELS[level] ?? ['info', 'green'];
  const clock = new Date(time).toTimeString().slice(0, 8);
  const fields = Object.entries(rest)
    .map(([key, value]) => `${key}=${typeof value === 'string' ? value : JSON.stringify(value)}`)
    .join(' ');
  const failure = err === undefined ? '' : `\n${err?.stack ?? err?.message ?? String(err)}`;
  const head = `${styleText('gray', clock)} ${styleText(colour, name)} ${visibleLines(msg ?? '')}`;
  return `${head} ${styleText('gray', visibleText(fields))}${visibleLines(failure)}\n`;
}
