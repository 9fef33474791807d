import {
  type ApiResponse,
  exampleOf,
  type Operation,
  rulesOf,
  type Schema,
  typeOf,
} from './openapi.ts';
import { operationSamples, toolsWithout } from './operation-samples.ts';

/** The reference page of an operation as Markdown. */
export function operationMarkdown(operation: Operation): string {
  const { method, path, summary, description, parameters = [], requestBody } = operation;
  const missing = toolsWithout(operation);
  const samples = operationSamples(operation).map(
    ({ tool, language, text }) => `### ${tool}\n\n${fence(language, text)}`,
  );
  const body = requestBody?.content['application/json']?.schema;
  const responses = Object.entries(operation.responses).map(responseText);
  const parts = [
    `# ${summary}`,
    `\`${method} ${path}\``,
    description,
    ...samples,
    missing.length > 0 && `Not in ${missing.join(', ')}.`,
    parameters.length > 0 && '## Parameters',
    parameters
      .map(({ name, in: place, required, description: text, schema }) =>
        fieldLine(
          `${name} (${place})`,
          { ...schema, ...(text && { description: text }) },
          required,
        ),
      )
      .join('\n'),
    body && '## Body',
    body && fieldLines(body, '').join('\n'),
    '## Responses',
    ...responses,
  ];
  return `${parts.filter(Boolean).join('\n\n')}\n`;
}

const fence = (language: string, text: string) => `\`\`\`${language}\n${text}\n\`\`\``;

function fieldLines({ properties = {}, required = [] }: Schema, prefix: string): string[] {
  return Object.entries(properties).flatMap(([name, schema]) => [
    fieldLine(`${prefix}${name}`, schema, required.includes(name)),
    ...fieldLines(schema, `${prefix}${name}.`),
  ]);
}

function fieldLine(name: string, schema: Schema, isRequired = false): string {
  const type = `${typeOf(schema)}${isRequired ? ', required' : ''}`;
  return `- \`${name}\` (${type}): ${rulesOf(schema)}`.trimEnd();
}

function responseText([status, { description, content }]: [string, ApiResponse]): string {
  const example = exampleOf(content);
  const shown =
    example === undefined ? '' : `\n\n${fence('json', JSON.stringify(example, null, 2))}`;
  return `### ${status}\n\n${description}${shown}`;
}
