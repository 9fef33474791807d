import type { Call } from '../command.ts';
import { clientOf } from '../state/login.ts';
import { figure } from '../terminal/screen.ts';

export async function run({ screen }: Call): Promise<void> {
  const balance = await clientOf().credits.get();
  const credits = figure(screen, balance.available_credits);
  screen.result(balance, screen.isForPerson ? `${credits} credits` : credits);
}
