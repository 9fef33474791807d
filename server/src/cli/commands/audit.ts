import { readStorageSettings } from '../../config/config.ts';
import type { Database } from '../../database/database.ts';
import { createLog } from '../../kernel/log.ts';
import { audit } from '../../operator/audit.ts';
import { openStorage } from '../../storage/open-storage.ts';
import { auditStorage } from '../../storage/vanished.ts';
import type { Arguments, Command } from '../command.ts';

export const AUDIT_COMMAND: Command = {
  usage: 'audit [--storage]',
  summary:
    'Prove that balances, tasks, attempts and objects agree, and with --storage that the storage ' +
    'has each file; exit 1 if not',
  options: [],
  flags: ['storage'],
  async run(db, { options, show }) {
    const result = await audit(db, show);
    const files = options.storage === undefined ? undefined : await auditFiles(db, show);
    const problems = [...result.problems, ...(files?.problems ?? [])];
    const found = (result.found ?? result.problems.length) + (files?.problems.length ?? 0);
    return {
      ok: found === 0,
      ...(files && { files: files.count }),
      // The problems have been shown one by one.
      ...(show === undefined || found === 0 ? { problems } : {}),
      ...(found > problems.length || (show !== undefined && found > 0) ? { found } : {}),
    };
  },
};

/** Asks the storage that the service is configured with. */
async function auditFiles(db: Database, show: Arguments['show']) {
  const storage = await openStorage(readStorageSettings(), createLog({ level: 'silent' }));
  const problems: string[] = [];
  const count = await auditStorage({ db, storage }, (problem) => {
    problems.push(problem);
    show?.(problem);
  });
  return { count, problems };
}
