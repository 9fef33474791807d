import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';

export const MIGRATIONS_FOLDER = new URL('../../../migrations/', import.meta.url);

/** A file of `migrations/`. Its header is explained in migrations/README.md. */
export interface MigrationFile {
  name: string;
  text: string;
  /** SHA-256 of the text with Unix line endings, in hexadecimal. */
  checksum: string;
  /** The number of the oldest program that works on a schema with this migration. */
  oldestProgram: string;
  /** False: each statement runs and commits by itself. */
  isTransaction: boolean;
}

/** In the order in which they run. @throws Error when a name or a header is wrong */
export async function readMigrations(folder: URL): Promise<MigrationFile[]> {
  const names = (await readdir(folder)).filter((name) => name.endsWith('.sql')).sort();
  return Promise.all(
    names.map(async (name) => parseMigration(name, await readFile(new URL(name, folder), 'utf8'))),
  );
}

/** A program and a schema are named by the number of their newest migration, such as `0002`. */
export function numberOf(name: string): string {
  return name.slice(0, 4);
}

function parseMigration(name: string, stored: string): MigrationFile {
  if (!/^\d{4}_[a-z0-9_]+\.sql$/.test(name)) {
    throw new Error(`${name}: the name of a migration is like 0002_some_words.sql`);
  }
  const text = stored.replaceAll('\r\n', '\n');
  const header = readHeader(name, text);
  const oldestProgram = header.get('oldest-program');
  if (oldestProgram === undefined) {
    throw new Error(`${name}: it needs a header "-- oldest-program: NNNN"`);
  }
  if (oldestProgram > numberOf(name)) {
    throw new Error(`${name}: oldest-program can't be newer than the migration itself`);
  }
  const checksum = createHash('sha256').update(text).digest('hex');
  return { name, text, checksum, oldestProgram, isTransaction: !header.has('transaction') };
}

const HEADERS: Record<string, RegExp> = { 'oldest-program': /^\d{4}$/, transaction: /^none$/ };

/** Lines like `-- key: value` before the first line that is not a comment. */
function readHeader(name: string, text: string): Map<string, string> {
  const header = new Map<string, string>();
  for (const line of text.split('\n')) {
    if (!line.startsWith('--')) break;
    const [, key = '', value = ''] = /^-- ?([a-z-]+): *(.*?) *$/.exec(line) ?? [];
    const pattern = HEADERS[key];
    if (!pattern) continue;
    if (!pattern.test(value)) throw new Error(`${name}: "${value}" is not a value of "${key}"`);
    header.set(key, value);
  }
  return header;
}

/** The statements of a file without a transaction. Each ends with a semicolon at a line's end. */
export function statementsOf({ name, text }: MigrationFile): string[] {
  const withoutComments = text.replaceAll(/^\s*--.*$/gm, '');
  const statements = withoutComments
    .split(/;[ \t]*(?:--.*)?$/m)
    .map((statement) => statement.trim())
    .filter((statement) => statement !== '');
  const wrong = statements.find((statement) => !REPEATABLE.some((form) => form.test(statement)));
  if (wrong === undefined) return statements;
  throw new Error(
    `${name}: a file without a transaction can't have this statement: ${wrong.split('\n')[0]}`,
  );
}

/** A statement that builds an index; the group is the index's name. */
export const BUILD_INDEX =
  /^create (?:unique )?index concurrently (?:if not exists )?(\w+)\s+on\s/i;
/** A statement that is repeated until it changes no row. */
export const BATCH = /^(?:update|delete from|with)\s.*\slimit\s/is;

/** Statements that block no reader and no writer, and that may run again after an interruption. */
const REPEATABLE = [
  BUILD_INDEX,
  BATCH,
  /^drop index concurrently if exists \w+$/i,
  /^alter table \w+ validate constraint \w+$/i,
];
