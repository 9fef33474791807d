import { FIRST_KEY, fwWords, pythonArguments, typeScriptObject } from '../src/samples.ts';
import { EXAMPLE_IDS } from './contents.ts';
import { exampleOf, type Operation } from './openapi.ts';

const LANGUAGES = { curl: 'sh', TypeScript: 'ts', Python: 'python', fw: 'sh', MCP: 'json' };
type Tool = keyof typeof LANGUAGES;

interface OperationSample {
  tool: Tool;
  language: string;
  text: string;
}

export function operationSamples(operation: Operation): OperationSample[] {
  const { operationId, method, path } = operation;
  const body = exampleBody(operation) ?? {};
  const texts: Partial<Record<Tool, string | undefined>> = {
    curl: curlOf(operation),
    TypeScript: typeScript(requestOf(method, examplePath(path), body)),
    Python: PYTHON[operationId]?.(body),
    ...WITH_TOOLS[operationId]?.(body),
  };
  return TOOLS.flatMap((tool) => {
    const text = texts[tool];
    return text === undefined ? [] : [{ tool, language: LANGUAGES[tool], text }];
  });
}

export function toolsWithout(operation: Operation): Tool[] {
  const having = operationSamples(operation).map(({ tool }) => tool);
  return TOOLS.filter((tool) => !having.includes(tool));
}

const TOOLS = Object.keys(LANGUAGES) as Tool[];

type Body = Record<string, unknown>;
type OwnSamples = Record<'TypeScript' | 'Python', string> & Partial<Record<'fw' | 'MCP', string>>;

const { task: TASK, upload: UPLOAD, webhook: ENDPOINT, event: EVENT } = EXAMPLE_IDS;
/** Uses the SDK's `request`, for operations without their own method. */
function requestOf(method: string, address: string, body: Body): string {
  const given = Object.keys(body).length > 0;
  const options = given ? `, {\n  body: ${nested(typeScriptObject(body))},\n}` : '';
  const call = `client.request('${method}', '${address}'${options})`;
  return method === 'DELETE' ? `await ${call};` : `console.log(await ${call});`;
}

const nested = (text: string) => text.replaceAll('\n', '\n  ');

function typeScript(...calls: string[]): string {
  const head = ["import { Framewright } from '@framewright/client';", ''];
  return [...head, 'const client = new Framewright();', ...calls].join('\n');
}

function python(...calls: string[]): string {
  const lines = calls.join('\n').replaceAll('\n', '\n    ');
  const head = 'from framewright_client import Framewright';
  return `${head}\n\nwith Framewright() as client:\n    ${lines}`;
}

function mcp(name: string, input: Body): string {
  return JSON.stringify({ name, arguments: input }, null, 2);
}

const fw = (verb: string, words: string[]) => `fw ${[verb, ...words].join(' \\\n  ')}`;

/** Operations that have a method only in the Python SDK. */
const PYTHON: Record<string, (body: Body) => string> = {
  getTaskLedger: () =>
    python(
      `for moved in client.videos.ledger("${TASK}").data:`,
      '    print(moved.reason, moved.credits)',
    ),
  deleteTaskOutput: () => python(`client.videos.delete("${TASK}")`),
  refillTestCredits: () => python('print(client.credits.refill_test())'),
  createPresignedUpload: (body) =>
    python(
      `upload = client.uploads.presign(\n${pythonArguments(body, 4)})`,
      'print(upload.upload.url)',
    ),
  listWebhooks: () => python('print(client.webhooks.list().data)'),
  createWebhook: (body) =>
    python(
      `endpoint = client.webhooks.create(\n${pythonArguments(body, 4)})`,
      'print(endpoint.id, endpoint.secret)',
    ),
  getWebhook: () => python(`print(client.webhooks.get("${ENDPOINT}"))`),
  updateWebhook: (body) =>
    python(
      `endpoint = client.webhooks.update(\n    "${ENDPOINT}",\n${pythonArguments(body, 4)})`,
      'print(endpoint.events)',
    ),
  deleteWebhook: () => python(`client.webhooks.delete("${ENDPOINT}")`),
  replaceWebhookSecret: () => python(`print(client.webhooks.replace_secret("${ENDPOINT}").secret)`),
  listWebhookDeliveries: () =>
    python(
      `for delivery in client.webhooks.deliveries("${ENDPOINT}"):`,
      '    print(delivery.type, delivery.state)',
    ),
  sendWebhookAgain: () =>
    python(`print(client.webhooks.send_again("${ENDPOINT}", "${EVENT}").event_id)`),
  testWebhook: () => python(`print(client.webhooks.test("${ENDPOINT}").event_id)`),
};

/** Operations for which several tools have methods. */
const WITH_TOOLS: Record<string, (body: Body) => OwnSamples> = {
  createVideo: (body) => ({
    TypeScript: typeScript(
      `const key = { idempotencyKey: '${FIRST_KEY}' };`,
      `const task = await client.videos.create(${typeScriptObject(body)}, key);`,
      'console.log(task.id, task.status);',
    ),
    Python: python(
      'task = client.videos.create(',
      `${pythonArguments({ ...body, idempotency_key: FIRST_KEY }, 4)})`,
      'print(task.id, task.status)',
    ),
    fw: fw('generate', [...fwWords(body), '-o video.mp4']),
    MCP: mcp('generate_video', { request_id: FIRST_KEY, ...body }),
  }),
  createQuote: (body) => ({
    TypeScript: typeScript(
      `const quote = await client.videos.quote(${typeScriptObject(body)});`,
      'console.log(quote.credits, quote.enough);',
    ),
    Python: python(
      `quote = client.videos.quote(\n${pythonArguments(body, 4)})`,
      'print(quote.credits, quote.enough)',
    ),
    fw: fw('quote', fwWords(body)),
    MCP: mcp('quote_video', body),
  }),
  getTask: () => ({
    TypeScript: typeScript(
      `const task = await client.videos.get('${TASK}');`,
      'console.log(task.status, task.output?.video_url);',
    ),
    Python: python(`task = client.videos.get("${TASK}")`, 'print(task.status)'),
    fw: `fw tasks ${TASK}`,
    MCP: mcp('get_video', { task_id: TASK }),
  }),
  listTasks: () => ({
    TypeScript: typeScript(
      "for await (const task of client.videos.list({ status: 'completed' })) {",
      '  console.log(task.id);',
      '}',
    ),
    Python: python('for task in client.videos.list(status="completed"):', '    print(task.id)'),
    fw: 'fw tasks --status completed',
    MCP: mcp('list_videos', { status: 'completed' }),
  }),
  cancelTask: () => ({
    TypeScript: typeScript(
      `const { cancel, task } = await client.videos.cancel('${TASK}');`,
      'console.log(cancel, task.status);',
    ),
    Python: python(`result = client.videos.cancel("${TASK}")`, 'print(result.cancel)'),
    fw: `fw cancel ${TASK}`,
    MCP: mcp('cancel_video', { task_id: TASK }),
  }),
  getCredits: () => ({
    TypeScript: typeScript('console.log(await client.credits.get());'),
    Python: python('print(client.credits.get())'),
    fw: 'fw credits',
    MCP: mcp('get_credits', {}),
  }),
  listModels: () => ({
    TypeScript: typeScript('console.log(await client.models.list());'),
    Python: python('print(client.models.list())'),
    fw: 'fw models',
  }),
  createUpload: () => ({
    TypeScript: typeScript(
      "const upload = await client.uploads.create('first.png');",
      'console.log(upload.url);',
    ),
    Python: python('upload = client.uploads.create("first.png")', 'print(upload.url)'),
    fw: 'fw uploads first.png',
    MCP: mcp('upload_file', { path: 'first.png' }),
  }),
  deleteUpload: () => ({
    TypeScript: typeScript(`await client.uploads.delete('${UPLOAD}');`),
    Python: python(`client.uploads.delete("${UPLOAD}")`),
  }),
};

function examplePath(path: string): string {
  const [, noun] = /\/(\w+)s\/\{id\}/.exec(path) ?? [];
  const id = EXAMPLE_IDS[noun as keyof typeof EXAMPLE_IDS];
  return path.replace('/api/v1', '').replace('{id}', id).replace('{eventId}', EXAMPLE_IDS.event);
}

export function exampleBody({ requestBody }: Operation): Record<string, unknown> | undefined {
  return exampleOf(requestBody?.content) as Record<string, unknown> | undefined;
}

/** An operation as a curl command, with the same environment variables as all samples. */
function curlOf(operation: Operation): string {
  const { method, path, parameters = [], requestBody, security } = operation;
  const address = `$FRAMEWRIGHT_BASE_URL${examplePath(path)}`;
  const key = parameters.some(({ name }) => name.toLowerCase() === 'idempotency-key');
  const example = exampleBody(operation);
  const isFile = requestBody !== undefined && example === undefined;
  const parts = [
    `curl -s ${method === 'GET' || requestBody ? '' : `-X ${method} `}${address}`,
    security?.length === 0 ? '' : '-H "Authorization: Bearer $FRAMEWRIGHT_API_KEY"',
    key ? `-H "Idempotency-Key: ${FIRST_KEY}"` : '',
    isFile ? '-H "Content-Type: image/png" --data-binary @first.png' : '',
    example === undefined ? '' : '-H "Content-Type: application/json"',
    example === undefined
      ? ''
      : `-d '${JSON.stringify(example, null, 2).replaceAll('\n', '\n    ')}'`,
  ];
  const verb = requestBody && method !== 'POST' ? [`-X ${method}`] : [];
  return [...parts.filter((part) => part !== ''), ...verb].join(' \\\n  ');
}
