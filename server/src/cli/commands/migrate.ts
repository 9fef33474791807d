import type { Command } from '../command.ts';

/** Every command migrates the database when it opens it, so this one has nothing more to do. */
export const MIGRATE_COMMAND: Command = {
  usage: 'migrate',
  summary: 'Bring the database schema up to date (serve and every command do this too)',
  options: [],
  run: async () => ({ up_to_date: true }),
};
