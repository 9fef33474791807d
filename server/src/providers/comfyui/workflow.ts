import { type Static, Type } from 'typebox';
import { Value } from 'typebox/value';
import { UsageError } from '../../kernel/errors.ts';
import type { ProviderInput } from '../provider.ts';
import { PLACEHOLDERS } from './values.ts';

/** A graph in ComfyUI's API format ("Export (API)"): node id to class and inputs. */
const GraphSchema = Type.Record(
  Type.String(),
  Type.Object({
    class_type: Type.String(),
    inputs: Type.Record(Type.String(), Type.Unknown()),
  }),
);
type Graph = Static<typeof GraphSchema>;

/**
 * `first_frame` is the name of the uploaded file, `first_frame_url` a link to the service's copy of
 * it; the same for the other files.
 */
const FILE_PLACEHOLDER =
  /^(first_frame|last_frame|reference_image_[1-8]|reference_video_[1-3])(_url)?$/;
const BRACES = /\{\{(.*?)\}\}/gs;

/** An operator's template of a graph. Values replace `"{{prompt}}"`, `"{{seed}}"` and others. */
export interface Workflow {
  name: string;
  graph: Graph;
  placeholders: ReadonlySet<string>;
  /** The files it takes: `first_frame`, `reference_image_2`, ... */
  takesFiles: ReadonlySet<string>;
}

/** @throws UsageError, one line that names the template and what is wrong with it */
export function parseWorkflow(name: string, text: string): Workflow {
  const graph = parseGraph(name, text);
  const placeholders = new Set([...textsIn(graph)].flatMap(placeholdersIn));
  for (const placeholder of placeholders) {
    if (PLACEHOLDERS.includes(placeholder) || FILE_PLACEHOLDER.test(placeholder)) continue;
    throw new UsageError(`${name}: {{${placeholder}}} is not a placeholder`);
  }
  if (!placeholders.has('prompt')) throw new UsageError(`${name}: it has no "{{prompt}}"`);
  return { name, graph, placeholders, takesFiles: new Set([...placeholders].flatMap(fileOf)) };
}

export interface NamedInput {
  name: string;
  input: ProviderInput;
}

/** Names a job spec's files: `first_frame`, `last_frame`, `reference_image_1`, ... */
export function namedInputs<Input extends Pick<ProviderInput, 'role'>>(
  inputs: Input[],
): Array<{ name: string; input: Input }> {
  const counts = new Map<string, number>();
  return inputs.map((input) => {
    const { role } = input;
    if (role === 'first_frame' || role === 'last_frame') return { name: role, input };
    const count = (counts.get(role) ?? 0) + 1;
    counts.set(role, count);
    return { name: `${role}_${count}`, input };
  });
}

/**
 * The first workflow that takes exactly the files of the job spec. A workflow that takes fewer
 * would ignore a client's file without notice.
 */
export function workflowFor(
  workflows: Workflow[],
  inputs: Pick<NamedInput, 'name'>[],
): Workflow | undefined {
  const given = new Set(inputs.map(({ name }) => name));
  return workflows.find(({ takesFiles }) => given.symmetricDifference(takesFiles).size === 0);
}

export type Values = ReadonlyMap<string, unknown>;

/** Text in a value is never read as a placeholder. */
export function fillWorkflow(workflow: Workflow, values: Values): unknown {
  return fill(workflow.graph, values);
}

function fill(part: unknown, values: Values): unknown {
  if (typeof part === 'string') return fillText(part, values);
  if (Array.isArray(part)) return part.map((item) => fill(item, values));
  if (typeof part !== 'object' || part === null) return part;
  return Object.fromEntries(Object.entries(part).map(([key, item]) => [key, fill(item, values)]));
}

/** A placeholder that is the whole string becomes its value, with its type. */
function fillText(text: string, values: Values): unknown {
  const [alone] = placeholdersIn(text);
  if (alone !== undefined && /^\{\{[^{}]*\}\}$/.test(text)) return valueFor(alone, values);
  return text.replace(BRACES, (_, inner: string) => String(valueFor(inner.trim(), values)));
}

function valueFor(placeholder: string, values: Values): unknown {
  const value = values.get(placeholder);
  if (value === undefined) throw new Error(`there is no value for {{${placeholder}}}`);
  return value;
}

function parseGraph(name: string, text: string): Graph {
  const value = parseJson(name, text);
  if (Value.Check(GraphSchema, value)) return value;
  throw new UsageError(`${name}: not a graph in the API format; use "Export (API)" in ComfyUI`);
}

function parseJson(name: string, text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    const cause = error instanceof Error ? error.message : String(error);
    throw new UsageError(`${name}: not JSON: ${cause.replaceAll(/\s+/g, ' ')}`);
  }
}

function* textsIn(part: unknown): Generator<string> {
  if (typeof part === 'string') yield part;
  if (typeof part !== 'object' || part === null) return;
  for (const item of Object.values(part)) yield* textsIn(item);
}

function placeholdersIn(text: string): string[] {
  return [...text.matchAll(BRACES)].map(([, placeholder = '']) => placeholder.trim());
}

function fileOf(placeholder: string): string[] {
  const file = FILE_PLACEHOLDER.exec(placeholder)?.[1];
  return file === undefined ? [] : [file];
}
