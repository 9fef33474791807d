import { ACCOUNT_COMMANDS } from './accounts.ts';
import { AUDIT_COMMAND } from './audit.ts';
import type { Command } from './command.ts';
import { CREDIT_COMMANDS } from './credits.ts';
import { KEY_COMMANDS } from './keys.ts';
import { MIGRATE_COMMAND } from './migrate.ts';
import { ORPHAN_COMMANDS } from './orphans.ts';
import { RECONCILE_COMMAND } from './reconcile.ts';
import { TASK_COMMANDS } from './tasks.ts';

/** All operator commands except `serve`, in the order of --help. */
export const COMMANDS: readonly Command[] = [
  ...ACCOUNT_COMMANDS,
  ...KEY_COMMANDS,
  ...CREDIT_COMMANDS,
  ...TASK_COMMANDS,
  RECONCILE_COMMAND,
  ...ORPHAN_COMMANDS,
  AUDIT_COMMAND,
  MIGRATE_COMMAND,
];
