import { audit } from '../../operator/audit.ts';
import type { Command } from '../command.ts';

export const AUDIT_COMMAND: Command = {
  usage: 'audit',
  summary: 'Prove that balances, tasks, attempts and objects agree; exit 1 if they do not',
  options: [],
  async run(db, { show }) {
    const result = await audit(db, show);
    // The problems have been shown one by one.
    const isShown = show !== undefined && !result.ok;
    return isShown ? { ok: false, found: result.found ?? result.problems.length } : result;
  },
};
