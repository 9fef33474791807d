import {
  FIRST_IDEMPOTENCY_KEY,
  fwWords,
  pythonArguments,
  typeScriptObject,
} from '../src/samples.ts';
import { EXAMPLE_IDS } from './contents.ts';
import { exampleOf, type Operation } from './openapi.ts';

const LANGUAGES = { curl: 'sh', TypeScript: 'ts', Python: 'python', fw: 'sh', MCP: 'json' };
type Tool = keyof typeof LANGUAGES;

/** How the tools name an operation. */
interface Names {
  /** The method of both SDKs. */
  method?: string;
  /** The method of the Python SDK, where the TypeScript SDK has none. */
  python?: string;
  fw?: string;
  mcp?: string;
}

const NAMES: Record<string, Names> = {
  createVideo: { method: 'videos.create', fw: 'generate', mcp: 'generate_video' },
  createQuote: { method: 'videos.quote', fw: 'quote', mcp: 'quote_video' },
  getTask: { method: 'videos.get', fw: 'tasks', mcp: 'get_video' },
  listTasks: { method: 'videos.list', fw: 'tasks', mcp: 'list_videos' },
  cancelTask: { method: 'videos.cancel', fw: 'cancel', mcp: 'cancel_video' },
  getCredits: { method: 'credits.get', fw: 'credits', mcp: 'get_credits' },
  listModels: { method: 'models.list', fw: 'models', mcp: 'list_models' },
  createUpload: { method: 'uploads.create', fw: 'uploads', mcp: 'upload_file' },
  deleteUpload: { method: 'uploads.delete' },
  getTaskLedger: { python: 'videos.ledger' },
  deleteTaskOutput: { python: 'videos.delete' },
  refillTestCredits: { python: 'credits.refill_test' },
  createPresignedUpload: { python: 'uploads.presign' },
  listWebhooks: { python: 'webhooks.list' },
  createWebhook: { python: 'webhooks.create' },
  getWebhook: { python: 'webhooks.get' },
  updateWebhook: { python: 'webhooks.update' },
  deleteWebhook: { python: 'webhooks.delete' },
  replaceWebhookSecret: { python: 'webhooks.replace_secret' },
  listWebhookDeliveries: { python: 'webhooks.deliveries' },
  sendWebhookAgain: { python: 'webhooks.send_again' },
  testWebhook: { python: 'webhooks.test' },
};

export function operationSamples(operation: Operation) {
  const { method, python = method, fw, mcp } = NAMES[operation.operationId] ?? {};
  const given = givenOf(operation);
  const texts: Record<Tool, string | undefined> = {
    curl: curlOf(operation, given),
    TypeScript: typeScript(operation, method, given),
    Python: python && pythonOf(operation, python, given),
    fw: fw && ['fw', fw, ...fwArguments(operation, given)].join(' '),
    MCP: mcp && JSON.stringify({ name: mcp, arguments: mcpArguments(operation, given) }, null, 2),
  };
  return TOOLS.flatMap((tool) => {
    const text = texts[tool];
    return text === undefined ? [] : [{ tool, language: LANGUAGES[tool], text }];
  });
}

export const TOOLS = Object.keys(LANGUAGES) as Tool[];

/** A call's arguments, besides its ids. */
interface Given {
  fields: Record<string, unknown>;
  /** Whether it returns a list, which the SDKs read page by page. */
  isPaged: boolean;
  isFile: boolean;
}

function givenOf(operation: Operation): Given {
  const { operationId, parameters = [], requestBody } = operation;
  const body = exampleBody(operation);
  return {
    fields: body ?? (operationId === 'listTasks' ? { status: 'completed' } : {}),
    isPaged: parameters.some(({ name }) => name === 'cursor'),
    isFile: requestBody !== undefined && body === undefined,
  };
}

const isDelete = ({ method }: Operation) => method === 'DELETE';
const FILE = 'first.png';

/** Without a method of its own, an operation is called by the SDK's `request`. */
function typeScript(operation: Operation, method: string | undefined, given: Given): string {
  const { fields, isPaged, isFile } = given;
  const words = [...idsOf(operation), ...(isFile ? [FILE] : [])].map((text) => `'${text}'`);
  const object = Object.keys(fields).length > 0 ? typeScriptObject(fields) : '';
  const nested = object && `{\n  body: ${object.replaceAll('\n', '\n  ')},\n}`;
  const all =
    method === undefined
      ? [`'${operation.method}'`, `'${examplePath(operation.path)}'`, nested]
      : [...words, isPaged ? object.replaceAll(/,?\n */g, ' ') : object];
  if (hasKey(operation)) all.push(`{ idempotencyKey: '${FIRST_IDEMPOTENCY_KEY}' }`);
  const call = `client.${method ?? 'request'}(${all.filter(Boolean).join(', ')})`;
  const shown = isDelete(operation) ? `await ${call};` : `console.log(await ${call});`;
  const line =
    isPaged && method ? `for await (const item of ${call}) {\n  console.log(item);\n}` : shown;
  return `import { Framewright } from '@framewright/client';\n\nconst client = new Framewright();\n${line}`;
}

function pythonOf(operation: Operation, method: string, { fields, isPaged, isFile }: Given) {
  const words = [...idsOf(operation), ...(isFile ? [FILE] : [])].map((text) => `"${text}"`);
  const named = Object.assign(
    {},
    fields,
    hasKey(operation) && { idempotency_key: FIRST_IDEMPOTENCY_KEY },
  );
  const lines = words.map((word) => `        ${word},\n`).join('') + pythonArguments(named, 8);
  const isShort = Object.keys(named).length < 2;
  const inside = isShort ? lines.trim().replaceAll(/,\s*/g, ', ') : `\n${lines}    `;
  const call = `client.${method}(${inside.replace(/, $/, '')})`;
  const shown = isDelete(operation) ? call : `print(${call})`;
  const all = isPaged ? `for item in ${call}:\n        print(item)` : shown;
  return `from framewright_client import Framewright\n\nwith Framewright() as client:\n    ${all}`;
}

function fwArguments(operation: Operation, { fields, isFile }: Given): string[] {
  const { prompt } = fields;
  const words =
    prompt === undefined ? fwWords({ prompt: '', ...fields }).slice(1) : fwWords(fields);
  const output = operation.operationId === 'createVideo' ? ['-o video.mp4'] : [];
  const all = [...idsOf(operation), ...(isFile ? [FILE] : []), ...words, ...output];
  return [all.join(' \\\n  ')].filter(Boolean);
}

function mcpArguments(operation: Operation, { fields, isFile }: Given) {
  const [id] = idsOf(operation);
  return Object.assign(
    {},
    hasKey(operation) && { request_id: FIRST_IDEMPOTENCY_KEY },
    id && { task_id: id },
    isFile && { path: FILE },
    fields,
  );
}

const hasKey = ({ parameters = [] }: Operation) =>
  parameters.some(({ name }) => name.toLowerCase() === 'idempotency-key');

function idsOf({ path }: Operation): string[] {
  return examplePath(path)
    .split('/')
    .filter((part) => Object.values(EXAMPLE_IDS).includes(part));
}

function examplePath(path: string): string {
  const [, noun] = /\/(\w+)s\/\{id\}/.exec(path) ?? [];
  const id = EXAMPLE_IDS[noun as keyof typeof EXAMPLE_IDS];
  return path.replace('/api/v1', '').replace('{id}', id).replace('{eventId}', EXAMPLE_IDS.event);
}

function exampleBody({ requestBody }: Operation): Record<string, unknown> | undefined {
  return exampleOf(requestBody?.content) as Record<string, unknown> | undefined;
}

/** An operation as a curl command, with the same environment variables as all samples. */
function curlOf(operation: Operation, { isFile }: Given): string {
  const { method, path, requestBody, security } = operation;
  const address = `$FRAMEWRIGHT_BASE_URL${examplePath(path)}`;
  const example = exampleBody(operation);
  const json = JSON.stringify(example, null, 2)?.replaceAll('\n', '\n    ');
  const parts = [
    `curl -s ${method === 'GET' || requestBody ? '' : `-X ${method} `}${address}`,
    security?.length !== 0 && '-H "Authorization: Bearer $FRAMEWRIGHT_API_KEY"',
    hasKey(operation) && `-H "Idempotency-Key: ${FIRST_IDEMPOTENCY_KEY}"`,
    isFile && '-H "Content-Type: image/png" --data-binary @first.png',
    example && `-H "Content-Type: application/json" \\\n  -d '${json}'`,
    requestBody && method !== 'POST' && `-X ${method}`,
  ];
  return parts.filter(Boolean).join(' \\\n  ');
}
