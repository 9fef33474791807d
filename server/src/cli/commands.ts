import { PACK_COMMANDS, PLAN_COMMANDS } from './billing/offers.ts';
import { ORDER_COMMANDS } from './billing/orders.ts';
import type { Command } from './command.ts';
import { ACCOUNT_COMMANDS } from './commands/accounts.ts';
import { ACTION_COMMANDS } from './commands/actions.ts';
import { AUDIT_COMMAND } from './commands/audit.ts';
import { CREATE_COMMANDS } from './commands/creates.ts';
import { CREDIT_COMMANDS } from './commands/credits.ts';
import { KEY_COMMANDS } from './commands/keys.ts';
import { MIGRATE_COMMAND } from './commands/migrate.ts';
import { OBJECT_COMMANDS } from './commands/objects.ts';
import { ORPHAN_COMMANDS } from './commands/orphans.ts';
import { PROVIDER_COMMANDS } from './commands/providers.ts';
import { RECONCILE_COMMAND, RECONCILE_HELD_COMMAND } from './commands/reconcile.ts';
import { RESTORED_COMMAND } from './commands/restored.ts';
import { SECRET_COMMANDS } from './commands/secrets.ts';
import { STORAGE_COMMANDS } from './commands/storage.ts';
import { TASK_COMMANDS } from './commands/tasks.ts';

/** All operator commands except `serve`, in the order of --help. */
export const COMMANDS: readonly Command[] = [
  ...ACCOUNT_COMMANDS,
  ...KEY_COMMANDS,
  ...CREDIT_COMMANDS,
  ...PACK_COMMANDS,
  ...PLAN_COMMANDS,
  ...ORDER_COMMANDS,
  ...TASK_COMMANDS,
  RECONCILE_HELD_COMMAND,
  RECONCILE_COMMAND,
  ...ORPHAN_COMMANDS,
  ...OBJECT_COMMANDS,
  ...STORAGE_COMMANDS,
  ...SECRET_COMMANDS,
  ...PROVIDER_COMMANDS,
  ...CREATE_COMMANDS,
  ...ACTION_COMMANDS,
  AUDIT_COMMAND,
  RESTORED_COMMAND,
  MIGRATE_COMMAND,
];

/** The first words of all commands. */
export function commandGroups(): string[] {
  return [...new Set(COMMANDS.map(({ usage }) => usage.split(' ', 1).join('')))];
}
