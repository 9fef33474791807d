import { audit } from '../../operator/audit.ts';
import type { Command } from '../command.ts';

export const AUDIT_COMMAND: Command = {
  usage: 'audit',
  summary: 'Prove that balances, tasks, attempts and objects agree; exit 1 if they do not',
  options: [],
  run: (db) => audit(db),
};
