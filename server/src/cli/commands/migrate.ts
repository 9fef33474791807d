import type { Command } from '../command.ts';

/** The schema is brought up to date when the database is opened. Nothing is left to do then. */
export const MIGRATE_COMMAND: Command = {
  usage: 'migrate',
  summary: 'Bring the database schema up to date (serve does this too, other commands do not)',
  options: [],
  migrates: true,
  run: async () => ({ up_to_date: true }),
};
