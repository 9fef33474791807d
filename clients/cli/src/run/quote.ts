import { basename } from 'node:path';
import type { Call } from '../command.ts';
import { bodyOf, planOf } from '../generation/plan.ts';
import { clientOf } from '../state/login.ts';
import { figure } from '../terminal/screen.ts';

export async function run(call: Call): Promise<void> {
  const { screen } = call;
  const { request, media } = planOf(call);
  const client = clientOf();
  for (const one of media.filter(({ url }) => url === null)) {
    screen.progress(`uploading ${basename(one.from)}`);
    const { url, duration_seconds: seconds } = await client.uploads.create(one.from);
    Object.assign(one, { url, seconds: seconds === null ? null : Math.round(seconds) });
  }
  const quote = await client.videos.quote(bodyOf({ request, media }));
  const price = figure(screen, quote.credits);
  const available = figure(screen, quote.available_credits);
  const rate = quote.credits_per_second;
  const text = `${price} credits (${rate} a second); ${available} are available`;
  screen.result(quote, screen.isForPerson ? text : price);
}
