import { listOrphans } from '../../operator/orphan-listing.ts';
import type { Command } from '../command.ts';

export const ORPHAN_COMMANDS: readonly Command[] = [
  {
    usage: 'orphans list',
    summary: 'List provider jobs that no task uses; the provider may bill them',
    options: [],
    run: (db) => listOrphans(db),
  },
];
