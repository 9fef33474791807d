import type { Call } from '../command.ts';
import { removeLogin } from '../state/login.ts';

export async function run({ screen }: Call): Promise<void> {
  const hadOne = removeLogin();
  screen.note('The key itself is still valid: revoke it on the website if you do not need it.');
  screen.result({ logged_out: hadOne }, hadOne ? 'Logged out.' : 'There was no login.');
}
