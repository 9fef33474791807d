import hljs from 'highlight.js/lib/core';
import bash from 'highlight.js/lib/languages/bash';
import go from 'highlight.js/lib/languages/go';
import http from 'highlight.js/lib/languages/http';
import java from 'highlight.js/lib/languages/java';
import javascript from 'highlight.js/lib/languages/javascript';
import json from 'highlight.js/lib/languages/json';
import php from 'highlight.js/lib/languages/php';
import python from 'highlight.js/lib/languages/python';
import ruby from 'highlight.js/lib/languages/ruby';
import typescript from 'highlight.js/lib/languages/typescript';
import { escapeHtml } from './html.ts';

const LANGUAGES = {
  bash,
  go,
  http,
  java,
  javascript,
  json,
  php,
  python,
  ruby,
  typescript,
};
const NAMES: Record<string, keyof typeof LANGUAGES> = {
  sh: 'bash',
  js: 'javascript',
  ts: 'typescript',
  py: 'python',
};

for (const [name, language] of Object.entries(LANGUAGES)) hljs.registerLanguage(name, language);

/** The HTML of a code sample; plain if its language is not known. Colours come from classes. */
export function highlight(text: string, language: string): string {
  const name = NAMES[language] ?? language;
  if (!hljs.getLanguage(name)) return escapeHtml(text);
  return hljs.highlight(text, { language: name }).value;
}
