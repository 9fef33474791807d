import { type ListFilter, type TaskList, VERSION, type VideoRequest } from '@framewright/client';
import {
  type CallToolResult,
  fromJsonSchema,
  McpServer,
  type ServerContext,
  type ToolAnnotations,
} from '@modelcontextprotocol/server';
import { openAllowed } from './files.ts';
import { addressesOnly, type GenerateInput, generate, type Session } from './generate.ts';
import {
  type Advice,
  adviceOnCharge,
  adviceOnRead,
  adviceOnTask,
  errorResult,
  result,
  taskResult,
} from './results.ts';
import { type ResultName, resultSchema, SCHEMAS } from './schemas.ts';

interface Tool<Input> {
  name: string;
  title: string;
  description: string;
  schema: (typeof SCHEMAS)[keyof typeof SCHEMAS];
  data: ResultName;
  annotations: ToolAnnotations;
  /** What an error means for credits and retries. */
  advise?: Advice;
  needsFiles?: true;
  run(session: Session, input: Input, ctx: ServerContext): Promise<CallToolResult>;
}

/** Makes a tool ready to register. API errors become error results. */
function tool<Input extends object>(given: Tool<Input>) {
  const { name, schema, data, run, needsFiles, advise = adviceOnRead, ...shown } = given;
  const inputSchema = fromJsonSchema<Input>(schema);
  const config = { ...shown, inputSchema, outputSchema: fromJsonSchema(resultSchema(data)) };
  return {
    register(server: McpServer, session: Session): void {
      if (needsFiles && !session.files) return;
      server.registerTool(name, config, (input, ctx) =>
        run(session, input, ctx).catch((error) => errorResult(error, advise)),
      );
    },
  };
}

const READS: ToolAnnotations = { readOnlyHint: true, openWorldHint: false };

const CANCELLED = {
  cancelled: () => 'Cancelled. Charged: nothing, the credits were refunded.',
  pending: () => 'The provider was asked to stop. Call get_video later to see how it ends.',
  refused: (why: string | null) => `Not cancelled (${why}): the video goes on and is charged.`,
};

/** In the order in which language models see them. */
const TOOLS = [
  tool<GenerateInput>({
    name: 'generate_video',
    title: 'Generate a video',
    description:
      'Makes a video and charges credits of the user, at most max_credits. Waits a while; if the ' +
      'video takes longer, the result has the id of its task, for get_video. A failed video is ' +
      'refunded.',
    schema: SCHEMAS.generate,
    data: 'VideoTask',
    advise: adviceOnCharge,
    annotations: { destructiveHint: false, idempotentHint: true, openWorldHint: true },
    run: generate,
  }),
  tool<{ task_id: string }>({
    name: 'get_video',
    title: 'Read a video',
    description:
      'The state of a video, and a fresh link to it when it is completed. Costs nothing.',
    schema: SCHEMAS.task,
    data: 'VideoTask',
    advise: adviceOnTask,
    annotations: READS,
    run: async ({ client }, { task_id }, { mcpReq: { signal } }) =>
      taskResult(await client.videos.get(task_id, { signal })),
  }),
  tool<ListFilter & { cursor?: string }>({
    name: 'list_videos',
    title: 'List videos',
    description: 'The videos of the user, newest first. Costs nothing.',
    schema: SCHEMAS.list,
    data: 'TaskList',
    annotations: READS,
    run: async ({ client }, query, { mcpReq: { signal } }) => {
      const texts = Object.entries(query).map(([name, value]) => [name, String(value)]);
      const path = `/tasks?${new URLSearchParams(texts)}`;
      const page = await client.request<TaskList>('GET', path, { signal });
      const lines = page.data.map(
        ({ id, status, model, created_at }) => `${id} ${status} ${model} ${created_at}`,
      );
      return result(lines.join('\n') || 'There is no such video.', page);
    },
  }),
  tool<VideoRequest>({
    name: 'quote_video',
    title: 'Price of a video',
    description: 'What a video would cost, and whether the balance is enough. Costs nothing.',
    schema: SCHEMAS.quote,
    data: 'Quote',
    annotations: READS,
    run: async ({ client }, request, { mcpReq: { signal } }) => {
      const quote = await client.videos.quote(addressesOnly(request), { signal });
      return result(`${quote.credits} credits; ${quote.available_credits} are available.`, quote);
    },
  }),
  tool<object>({
    name: 'list_models',
    title: 'Models',
    description: 'The models, what each makes and its credits per second. Costs nothing.',
    schema: SCHEMAS.none,
    data: 'ModelCatalog',
    annotations: READS,
    run: async ({ client }, _input, { mcpReq: { signal } }) => {
      const catalog = await client.models.list({ signal });
      const lines = catalog.data.map(({ id, credits_per_second: { standard } }) => {
        const rates = Object.entries(standard).map(([name, credits]) => `${name} ${credits}`);
        return `${id}: ${rates.join(', ')} credits per second`;
      });
      return result(lines.join('\n'), catalog);
    },
  }),
  tool<{ task_id: string }>({
    name: 'cancel_video',
    title: 'Cancel a video',
    description:
      'Stops a video that is not made yet, and refunds it. A video that the provider already ' +
      'makes may go on: the result says so.',
    schema: SCHEMAS.task,
    data: 'CancelResult',
    advise: adviceOnTask,
    annotations: { destructiveHint: true, idempotentHint: true, openWorldHint: false },
    run: async ({ client }, { task_id }, { mcpReq: { signal } }) => {
      const { cancel, refusal, task } = await client.videos.cancel(task_id, { signal });
      return result(CANCELLED[cancel](refusal), { cancel, refusal, task });
    },
  }),
  tool<object>({
    name: 'get_credits',
    title: 'Balance',
    description: 'The credits that the user has left. Costs nothing.',
    schema: SCHEMAS.none,
    data: 'CreditBalance',
    annotations: READS,
    run: async ({ client }, _input, { mcpReq: { signal } }) => {
      const credits = await client.credits.get({ signal });
      return result(`${credits.available_credits} credits are available.`, credits);
    },
  }),
  tool<{ path: string }>({
    name: 'upload_file',
    title: 'Upload a file',
    description:
      'Uploads a picture or video of the folder that the user allows. The url of the result may ' +
      'be used in each media field of generate_video. It is deleted a day after its last use. ' +
      'Costs nothing.',
    schema: SCHEMAS.upload,
    data: 'Upload',
    annotations: { destructiveHint: false, idempotentHint: false, openWorldHint: false },
    needsFiles: true,
    run: async ({ client, files }, { path }, { mcpReq: { signal } }) => {
      const upload = await client.uploads.create(await openAllowed(files?.folder, path), {
        signal,
      });
      return result(`Uploaded: ${upload.url} (until ${upload.expires_at})`, upload);
    },
  }),
];

const INSTRUCTIONS =
  'These tools make videos and charge the credits of the user. Tell the price before you spend ' +
  'much. After any failure of generate_video call it again with the same request_id: it is ' +
  'charged once. Read a video that takes long with get_video.';

/** A server for one connection, or for one request over HTTP. */
export function createServer(session: Session): McpServer {
  const server = new McpServer(
    { name: 'framewright', title: session.title ?? 'Framewright', version: VERSION },
    { instructions: INSTRUCTIONS },
  );
  for (const tool of TOOLS) tool.register(server, session);
  return server;
}
