import type { VendorModel } from '../catalog/proposed-model.ts';
import type { Database, Transaction } from '../database/database.ts';
import type { Log } from '../kernel/log.ts';
import type { ScratchDirectory } from '../kernel/scratch-directory.ts';
import type { Environment } from '../kernel/variables.ts';
import type { GuardedFetch } from '../outbound/guarded-fetch.ts';
import type { Storage } from '../storage/storage.ts';
import type { FieldTable } from './kit/request-fields.ts';
import type { Adapter } from './provider.ts';

export interface NeededVariable {
  variable: string;
  /** The expected value, for the error message: "an API key of fal". */
  wanted: string;
}

export interface AdapterDeps {
  db: Database;
  storage: Storage;
  scratch: ScratchDirectory;
  log: Log;
  guardedFetch: GuardedFetch;
  /** The largest result that is fetched; OUTPUT_BYTES if not given. */
  maxOutputBytes?: number;
  /** Milliseconds since 1970, by the database's clock. */
  now(): number;
  submitTimeoutSeconds: number;
  /** Waits for a turn of the `find` budget. Await it before each page of a list, even the first. */
  nextListTurn(): Promise<void>;
}

/** The jobs that a provider keeps in this database, each by the id of its attempt. */
export interface OwnJobs {
  /** SQL: whether one of the attempts has a job under way. @param attemptIds the SQL of an array */
  isRunning(attemptIds: string): string;
  deleteOf(tx: Transaction, attemptIds: string[]): Promise<void>;
  eraseOf(tx: Transaction, attemptIds: string[]): Promise<void>;
}

/**
 * Everything that shared code knows about one provider. Each provider's folder exports its
 * definition from `index.ts`, and `registry.ts` lists it.
 */
export interface ProviderDefinition<Settings> {
  /** The value of PROVIDER. It is stored with each task, so it never changes. */
  name: string;
  /**
   * Whether this is the provider of test keys. Customers provoke its refusals by their prompts, so
   * these do not open a circuit breaker, and its calls are in no metric.
   */
  isForTestKeys?: boolean;
  /**
   * Variables without a default. The provider is configured when the first of them is set; then the
   * others must be set too. Empty: always configured.
   */
  needs: NeededVariable[];
  /**
   * @returns undefined if the provider is not configured
   * @throws UsageError, one line that names the variable, when a value is malformed, even if the
   *   provider is not configured
   */
  readSettings(env: Environment): Settings | undefined;
  /** The key whose rate limits apply; undefined if there are none. */
  apiKey(settings: Settings): string | undefined;
  /**
   * The URLs that the API key is sent to, by the variable that sets each. They must be https. Jobs
   * are submitted to the first.
   */
  baseUrls(settings: Settings): Record<string, string>;
  /** Whether the provider fetches inputs from PUBLIC_URL and calls back there. */
  fetchesInputs: boolean;
  /** Left out if the provider keeps all its jobs elsewhere. */
  ownJobs?: OwnJobs;
  /** For docs/operators/providers/NAME.md, if there is one. `shown`: how the page writes a name. */
  fields?: { table: FieldTable; shown?(name: string): string };
  /**
   * Reads the provider's list of video models, without a key. Left out: it has none.
   * @param env the variables of a connection, which need not be configured
   * @throws UsageError, one line, when the list can't be read
   */
  listModels?(env: Environment): Promise<VendorModel[]>;
  /** @throws UsageError, one line, when a setting can't be used */
  create(settings: Settings, deps: AdapterDeps): Adapter | Promise<Adapter>;
}
