import type { Call } from '../command.ts';
import { clientOf } from '../state/login.ts';
import { table } from '../terminal/screen.ts';

export async function run({ screen }: Call): Promise<void> {
  const models = await clientOf().models.list();
  const rows = models.data.flatMap(
    ({ id, resolutions, credits_per_second: { standard, referenced } }) =>
      resolutions.map((size) => [id, size, String(standard[size]), String(referenced[size])]),
  );
  const head = ['MODEL', 'RESOLUTION', 'CREDITS A SECOND', 'WITH REFERENCE VIDEOS'];
  screen.result(models, table(screen, head, rows));
}
