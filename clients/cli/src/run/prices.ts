import type { Call } from '../command.ts';
import { requestOf } from '../generation/plan.ts';
import { clientOf } from '../state/login.ts';
import { figure, table } from '../terminal/screen.ts';

export async function quote(call: Call): Promise<void> {
  const { screen } = call;
  const request = requestOf(call);
  screen.progress('preparing the request and its files');
  const result = await clientOf().videos.quote(request);
  const price = figure(screen, result.credits);
  const available = figure(screen, result.available_credits);
  const rate = result.credits_per_second;
  const text = `${price} credits (${rate} a second); ${available} are available`;
  screen.result(result, screen.isForPerson ? text : price);
}

export async function credits({ screen }: Call): Promise<void> {
  const balance = await clientOf().credits.get();
  const text = figure(screen, balance.available_credits);
  screen.result(balance, screen.isForPerson ? `${text} credits` : text);
}

export async function models({ screen }: Call): Promise<void> {
  const catalog = await clientOf().models.list();
  const rows = catalog.data.flatMap(
    ({ id, resolutions, credits_per_second: { standard, referenced } }) =>
      resolutions.map((size) => [id, size, String(standard[size]), String(referenced[size])]),
  );
  const head = ['MODEL', 'RESOLUTION', 'CREDITS A SECOND', 'WITH REFERENCE VIDEOS'];
  screen.result(catalog, table(screen, head, rows));
}
