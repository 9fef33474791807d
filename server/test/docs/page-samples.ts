import { readFileSync } from 'node:fs';
import path from 'node:path';
import { filesOf, GUIDES } from '../../../console/docs/contents.ts';

const ROOT = path.join(import.meta.dirname, '../../..');

/** A code block of a page. */
export interface PageSample {
  file: string;
  /** What stands behind its first fence, such as `sh tab=curl`. */
  info: string;
  text: string;
}

/** All code blocks of a page, in their order. */
export function samplesOfPage(file: string): PageSample[] {
  const page = readFileSync(path.join(ROOT, file), 'utf8');
  const blocks = page.matchAll(/^```([^\n]*)\n(.*?)^```/gms);
  return [...blocks].map(([, info = '', text = '']) => ({ file, info, text }));
}

/** The pages that customers read, with the README. */
export const PAGES_WITH_SAMPLES = ['README.md', ...filesOf(GUIDES)];

interface Rule {
  file: RegExp;
  info: RegExp;
  /** A part of the text, where the rule is about some blocks only. */
  has?: RegExp;
}

const GUIDE = /^docs\/customers\//;
const COMMANDS = /^docs\/customers\/(api|uploads|test-keys|webhooks)\.md$/;

/** The tests that run samples, in files relative to the root. The first rule that fits counts. */
export const RUN: (Rule & { by: string })[] = [
  {
    file: GUIDE,
    info: / tab=(curl|TypeScript|Python|fw|MCP)$/,
    by: 'server/test/docs/guide-samples.test.ts',
  },
  { file: GUIDE, info: / tab=all$/, by: 'server/test/docs/every-sample.test.ts' },
  { file: COMMANDS, info: /^sh$/, by: 'server/test/service/acceptance.test.ts' },
  { file: /webhooks\.md$/, info: / tab=/, by: 'server/src/webhooks/signature.test.ts' },
  { file: /webhooks\.md$/, info: /^js$/, by: 'server/test/service/documented-commands.ts' },
  { file: /test-keys\.md$/, info: /^yaml$/, by: 'server/test/docs/every-sample.test.ts' },
  {
    file: /^README\.md$/,
    info: /^sh$/,
    has: /curl/,
    by: 'server/test/docs/every-sample.test.ts',
  },
  {
    file: /typescript\/README\.md$/,
    info: /^ts$/,
    has: /^import \{ Framewright \}/,
    by: 'clients/typescript/test/package.test.ts',
  },
  {
    file: /typescript\/README\.md$/,
    info: /^ts$/,
    has: /^import \{ FramewrightError \}|webhooks\.verify/,
    by: 'server/test/docs/every-sample.test.ts',
  },
  { file: /ai-sdk\/README\.md$/, info: /^ts$/, by: 'clients/ai-sdk/test/ai-sdk.test.ts' },
  { file: /python\/README\.md$/, info: /^python$/, by: 'clients/python/python.test.ts' },
  { file: /cli\/README\.md$/, info: /^sh$/, by: 'clients/cli/test/packed.test.ts' },
];

/** What no test runs, and why. `shown-json.test.ts` compares JSON with openapi.json. */
export const NOT_RUN: (Rule & { why: string })[] = [
  {
    file: /typescript\/README\.md$/,
    info: /^ts$/,
    has: /from 'undici'/,
    why: 'it needs a proxy, and undici from a registry',
  },
  {
    file: /./,
    info: /^(json|text)?$/,
    why: 'it shows a response, a setting of another program, or variables',
  },
  {
    file: /^README\.md$/,
    info: /^sh$/,
    why: 'it installs or starts this repository: demo.test.ts and framewright.test.ts do',
  },
  {
    file: /(typescript|python|ai-sdk)\/README\.md$/,
    info: /^sh$/,
    why: 'it needs a registry for what others wrote: FRAMEWRIGHT_TESTS=all runs it',
  },
  {
    file: /mcp\/README\.md$/,
    info: /^sh$/,
    why: 'the inspector comes from a registry: FRAMEWRIGHT_TESTS=all runs it',
  },
];

export function fits({ file, info, has }: Rule, sample: PageSample): boolean {
  return file.test(sample.file) && info.test(sample.info) && (has?.test(sample.text) ?? true);
}
