import { basename } from 'node:path';
import type { VideoTask } from '@framewright/client';
import type { Call } from '../command.ts';
import { requestOf } from '../generation/plan.ts';
import { clientOf } from '../state/login.ts';
import { figure, type Screen, table } from '../terminal/screen.ts';

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
      resolutions.map((size) => [
        id,
        size,
        String(standard[size]),
        String(referenced[size] ?? '-'),
      ]),
  );
  const head = ['MODEL', 'RESOLUTION', 'CREDITS A SECOND', 'WITH REFERENCE VIDEOS'];
  screen.result(catalog, table(screen, head, rows));
}

export async function uploads({ words, screen }: Call): Promise<void> {
  const client = clientOf();
  const made = [];
  for (const file of words) {
    screen.progress(`uploading ${basename(file)}`);
    const upload = await client.uploads.create(file);
    made.push(upload);
    if (!screen.isJson) screen.result(null, upload.url);
  }
  if (screen.isJson) screen.result(made, '');
  screen.note('They work in the requests of this account, for a day after their last use.');
}

const USUAL_LIMIT = 20;
const PAGE = 100;

export async function tasks(call: Call): Promise<void> {
  const [taskId] = call.words;
  const client = clientOf();
  if (taskId !== undefined) return show(await client.videos.get(taskId), call.screen);
  const limit = call.integer('limit') ?? USUAL_LIMIT;
  const filter = {
    status: call.text('status') as VideoTask['status'] | undefined,
    model: call.text('model') as VideoTask['model'] | undefined,
    created_after: call.text('after'),
    created_before: call.text('before'),
    limit: Math.min(PAGE, Math.max(1, limit)),
  };
  const found: VideoTask[] = [];
  for await (const task of client.videos.list(filter)) {
    if (found.push(task) >= limit) break;
  }
  const rows = found.map((task) => [
    task.id,
    task.status,
    task.model,
    String(task.credits_used - task.credits_refunded),
    task.created_at ?? '',
    task.error?.code ?? '',
  ]);
  const head = ['TASK', 'STATUS', 'MODEL', 'CREDITS', 'CREATED', 'ERROR'];
  const isEmpty = call.screen.isForPerson && rows.length === 0;
  call.screen.result(found, isEmpty ? 'No tasks.' : table(call.screen, head, rows));
}

function show(task: VideoTask, screen: Screen): void {
  const { error, output } = task;
  const rows = [
    ['task', task.id],
    ['status', task.status],
    ['model', task.model],
    ['mode', task.mode],
    ['credits used', String(task.credits_used)],
    ['credits refunded', String(task.credits_refunded)],
    ['created', task.created_at ?? ''],
    ...(error ? [['error', `${error.code}: ${error.message}`]] : []),
    ...(output ? [['video', output.video_url]] : []),
  ];
  screen.result(task, table(screen, ['', ''], rows).trimStart());
}

const MEANING = {
  cancelled: 'Cancelled. Its credits are refunded.',
  pending: 'The provider was asked. fw tasks shows how the task ends.',
  refused: 'The task goes on: it can not be cancelled any more.',
};

export async function cancel({ words: [taskId = ''], screen }: Call): Promise<void> {
  const result = await clientOf().videos.cancel(taskId);
  screen.result(result, screen.isForPerson ? MEANING[result.cancel] : result.cancel);
}
