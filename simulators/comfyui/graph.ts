import { type Static, Type } from 'typebox';
import { Value } from 'typebox/value';
import type { OutputSpec } from '../kit/outputs.ts';

const GraphSchema = Type.Record(
  Type.String(),
  Type.Object({ class_type: Type.String(), inputs: Type.Record(Type.String(), Type.Unknown()) }),
);
type Graph = Static<typeof GraphSchema>;

/** The nodes this server has installed. */
const LOADER = 'LoadImage';
const SAVER = 'SaveVideo';
const INSTALLED = new Set([
  LOADER,
  SAVER,
  'UNETLoader',
  'CLIPLoader',
  'VAELoader',
  'CLIPTextEncode',
  'EmptyHunyuanLatentVideo',
  'WanImageToVideo',
  'KSampler',
  'VAEDecode',
  'CreateVideo',
  'LoadImageFromUrl',
]);

/** An error in ComfyUI's format; `nodes` has the errors of single nodes. */
export interface GraphError {
  type: string;
  message: string;
  details?: string;
  nodes?: Record<string, unknown>;
}

/** What a graph asks for. */
export interface Workload {
  graph: Graph;
  prompt: string;
  outputSpec: OutputSpec;
  filenamePrefix: string;
}

/** Validates a graph like ComfyUI and reads the job from it. */
export function readGraph(
  value: unknown,
  isUploaded: (file: string) => boolean,
): Workload | GraphError {
  if (!Value.Check(GraphSchema, value)) {
    return { type: 'invalid_prompt', message: 'Cannot execute because a node has no class_type' };
  }
  const nodes = Object.values(value);
  const unknown = nodes.find((node) => !INSTALLED.has(node.class_type));
  if (unknown) {
    const message = `Node '${unknown.class_type}' not found. The custom node may not be installed.`;
    return { type: 'missing_node_type', message };
  }
  const saver = nodes.find((node) => node.class_type === SAVER);
  if (!saver) return { type: 'prompt_no_outputs', message: 'Prompt has no outputs' };
  return missingFiles(value, isUploaded) ?? workloadOf(value, saver);
}

function missingFiles(graph: Graph, isUploaded: (file: string) => boolean): GraphError | undefined {
  const nodes: Record<string, unknown> = {};
  for (const [id, { class_type, inputs }] of Object.entries(graph)) {
    const file = String(inputs.image ?? '');
    if (class_type !== LOADER || isUploaded(file)) continue;
    const details = `image - Invalid image file: ${file}`;
    const message = 'Custom validation failed for node';
    nodes[id] = { errors: [{ type: 'custom_validation_failed', message, details }], class_type };
  }
  if (Object.keys(nodes).length === 0) return undefined;
  const message = 'Prompt outputs failed validation';
  return { type: 'prompt_outputs_failed_validation', message, nodes };
}

function workloadOf(graph: Graph, saver: Graph[string]): Workload {
  const frames = firstNumber(graph, ['length', 'frames']) ?? 120;
  const framesPerSecond = firstNumber(graph, ['fps', 'frame_rate']) ?? 24;
  const seconds = Math.round(frames / framesPerSecond);
  const width = firstNumber(graph, ['width']) ?? 864;
  const height = firstNumber(graph, ['height']) ?? 496;
  const encoder = Object.values(graph).find((node) => node.class_type === 'CLIPTextEncode');
  return {
    graph,
    prompt: String(encoder?.inputs.text ?? ''),
    outputSpec: { width, height, seconds, audio: false },
    filenamePrefix: String(saver.inputs.filename_prefix ?? 'video'),
  };
}

function firstNumber(graph: Graph, names: string[]): number | undefined {
  const values = Object.values(graph).flatMap(({ inputs }) => names.map((name) => inputs[name]));
  return values.find((value) => typeof value === 'number');
}
