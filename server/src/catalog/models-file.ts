import { createHash } from 'node:crypto';
import { Type } from 'typebox';
import { Value } from 'typebox/value';
import {
  command,
  type Database,
  namedStatement,
  type Transaction,
  whether,
} from '../database/database.ts';
import { UsageError } from '../kernel/errors.ts';
import { startInterval } from '../kernel/interval.ts';
import type { Log } from '../kernel/log.ts';
import { readIsoTime } from '../kernel/text/iso-time.ts';
import { FILE_IS_READ, lockModels, type ModelWish, NAME_SHAPE, setModel } from './set-model.ts';

/** The models of MODELS_FILE. */
export interface ModelsFile {
  models: { name: string; wish: ModelWish }[];
  /** Equal for files with the same content. */
  digest: string;
}

const Rates = Type.Record(Type.String(), Type.Integer());
const FileSchema = Type.Array(
  Type.Object(
    {
      name: Type.String({ pattern: NAME_SHAPE.source }),
      title: Type.Optional(Type.String({ pattern: '^[^\\x00-\\x1f\\x7f-\\x9f]{1,80}$' })),
      modes: Type.Optional(Type.Array(Type.String())),
      durations: Type.Optional(Type.Array(Type.Integer())),
      aspect_ratios: Type.Optional(Type.Array(Type.String())),
      sound: Type.Optional(Type.Boolean()),
      seed: Type.Optional(Type.Boolean()),
      state: Type.Optional(Type.Enum(['offered', 'hidden', 'retired'])),
      price: Rates,
      reference_price: Type.Optional(Rates),
      from: Type.Optional(Type.String()),
    },
    { additionalProperties: false },
  ),
);

/** @throws UsageError, one line that names the place in the file */
export function parseModelsFile(text: string): ModelsFile {
  const json = parseJson(text);
  if (!Value.Check(FileSchema, json)) throw new UsageError(firstFault(json));
  const names = json.map(({ name }) => name);
  const twice = names.find((name, i) => names.indexOf(name) !== i);
  if (twice !== undefined) throw new UsageError(`${twice} is in the file twice`);
  const models = json.map(({ name, from: text, ...model }, i) => {
    const from = text === undefined ? undefined : readIsoTime(text);
    if (text !== undefined && !from) {
      throw new UsageError(`/${i}/from must be a time such as 2030-01-31T00:00:00Z`);
    }
    return { name, wish: { reference_price: {}, ...model, from } };
  });
  return { models, digest: createHash('sha256').update(JSON.stringify(json)).digest('hex') };
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error); // may have line breaks
    throw new UsageError(`not JSON: ${message.replaceAll(/\s+/g, ' ')}`);
  }
}

function firstFault(json: unknown): string {
  const [fault] = Value.Errors(FileSchema, json);
  const { instancePath = '', keyword, message = 'is not valid', params = {} } = fault ?? {};
  const place = instancePath || 'the file';
  if (keyword === 'boolean') return `${place} is not known`; // an additional property
  return keyword === 'enum'
    ? `${place} must be one of ${Object.values(params)}`
    : `${place} ${message}`;
}

const HEARTBEAT_SECONDS = 5;

const hasOther = whether<[digest: string], Transaction>(
  'model_file_other',
  `select from model_files where digest <> $1 and ${FILE_IS_READ} limit 1`,
);

const HEARTBEAT = namedStatement(
  'model_file_beat',
  `with forgotten as (delete from model_files where not (${FILE_IS_READ}) and process <> :process)
   insert into model_files (process, digest, seen_at) values (:process, :digest, clock_now())
   on conflict (process) do update set seen_at = excluded.seen_at`,
);

const forget = command<[process: string]>(
  'model_file_forget',
  'delete from model_files where process = $1',
);

/** Models that the file no longer names become the operator's: they are not retired. */
const release = command<[names: string[]], Transaction>(
  'model_file_release',
  `update models set source = 'operator' where source = 'file' and name <> all($1)`,
);

/**
 * Stores the file's models, and records that this process has read the file.
 * @returns a function that removes that record
 * @throws UsageError when a running process has another file, or a model can't be stored
 */
export async function useModelsFile(
  { models, digest }: ModelsFile,
  { db, log }: { db: Database; log: Log },
): Promise<() => Promise<void>> {
  const process = crypto.randomUUID();
  const values = HEARTBEAT.values({ process, digest });
  await db.transaction(async (tx) => {
    await lockModels(tx);
    if (await hasOther(tx, digest)) {
      throw new UsageError(
        'MODELS_FILE differs from the file of a running process: give all the same one, or stop ' +
          'the others first (one that crashed counts for 30 seconds)',
      );
    }
    for (const { name, wish } of models) {
      const { dropped } = await setNamed(tx, name, wish);
      if (Object.keys(dropped).length === 0) continue;
      log.warn({ model: name, dropped }, 'MODELS_FILE has values beyond the contract');
    }
    const names = models.map(({ name }) => name);
    await release(tx, names);
    await tx.query(HEARTBEAT, values);
  });
  const stopping = new AbortController();
  const { signal } = stopping;
  let heartbeat: Promise<unknown> = Promise.resolve();
  startInterval(HEARTBEAT_SECONDS, { name: 'the heartbeat of MODELS_FILE', log, signal }, () => {
    heartbeat = db.query(HEARTBEAT, values);
    return heartbeat;
  });
  return async () => {
    stopping.abort();
    await heartbeat.catch(() => {}); // it would insert the record again
    await forget(db, process);
  };
}

/** @throws UsageError that names the model */
async function setNamed(tx: Transaction, name: string, wish: ModelWish) {
  try {
    return await setModel(tx, { name, source: 'file', wish });
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    throw new UsageError(`MODELS_FILE: ${name}: ${error.message}`, { cause: error });
  }
}
