import type { Call } from '../command.ts';
import { clientOf } from '../state/login.ts';

const MEANING = {
  cancelled: 'Cancelled. Its credits are refunded.',
  pending: 'The provider was asked. fw tasks shows how it ends.',
  refused: 'The task goes on: it can not be cancelled any more.',
};

export async function run({ words: [taskId = ''], screen }: Call): Promise<void> {
  const result = await clientOf().videos.cancel(taskId);
  screen.result(result, screen.isForPerson ? MEANING[result.cancel] : result.cancel);
}
