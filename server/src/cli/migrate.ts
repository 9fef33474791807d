import type { Command } from './command.ts';

/** Opening the database migrates it, so nothing is left to do. */
export const MIGRATE_COMMAND: Command = {
  usage: 'migrate',
  summary: 'Bring the database schema up to date (serve and every command do this too)',
  options: [],
  run: async () => ({ up_to_date: true }),
};
