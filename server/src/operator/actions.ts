// The room operator/: what operators see and do. A verb is defined once, in verbs/, for the command
// line and the console (decisions/0041); what it changes is recorded as an action.

import {
  type Database,
  namedStatement,
  type Queryable,
  type Transaction,
} from '../database/database.ts';
import { jsonText, storable } from '../database/json-text.ts';

/** A command that changes something: its name, who runs it, and why. */
export interface Action {
  /** Such as `accounts disable`. */
  command: string;
  /** An operator's e-mail address, OS user and host, or --by; for the service itself `worker`. */
  actor: string;
  reason: string | null;
}

export interface ActionTarget {
  /** An id, such as an account's or an order's, the name of a connection, or `database`. */
  target: string;
  /** More about the change, without secrets or personal data. */
  details?: object;
  /** Reads what the change replaces, to record it with the details. */
  before?: (tx: Transaction) => Promise<object | undefined>;
}

const INSERT = namedStatement(
  'action_insert',
  `insert into operator_actions (actor, command, target, reason, details)
   values (:actor, :command, :target, :reason, :details)`,
);

/** Records an action within the transaction that makes the change. */
export async function recordAction(
  tx: Transaction,
  { command, actor, reason }: Action,
  { target, details }: Omit<ActionTarget, 'before'>,
): Promise<void> {
  const values = INSERT.values({
    command,
    actor: storable(actor),
    target,
    reason: reason === null ? null : storable(reason),
    details: details === undefined ? null : jsonText(details),
  });
  await tx.query(INSERT, values);
}

/**
 * Makes a change and records it, in one transaction. A run that finds nothing to change returns
 * `changed: false` and leaves no record, so commands can be repeated.
 */
export function performAction<Result extends { changed: boolean }>(
  db: Database,
  action: Action,
  { before: readBefore, ...changing }: ActionTarget,
  work: (tx: Transaction) => Promise<Result>,
): Promise<Result> {
  return db.transaction(async (tx) => {
    const before = await readBefore?.(tx);
    const result = await work(tx);
    const details = before ? { ...changing.details, before } : changing.details;
    if (result.changed)
      await recordAction(tx, action, { ...changing, ...(details && { details }) });
    return result;
  });
}

export interface ActionListing extends Action {
  id: number;
  at: Date;
  target: string;
  details: object | null;
}

const LIST = namedStatement(
  'action_list',
  `select id, at, actor, command, target, reason, details from operator_actions
   where (:target::text is null or target = :target)
     and (:after::bigint is null or id < :after::bigint)
   order by id desc limit :limit`,
);

/** Recorded actions, newest first. `after`: only those older than the action with this id. */
export function listActions(
  db: Queryable,
  filter: { target?: string | undefined; after?: number | undefined; limit: number },
): Promise<ActionListing[]> {
  const { target = null, after = null, limit } = filter;
  return db.query<ActionListing>(LIST, LIST.values({ target, after, limit }));
}
