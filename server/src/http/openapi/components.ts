import { STATUS_CODES } from 'node:http';
import { isDeepStrictEqual } from 'node:util';

type Part = Record<string, unknown>;
type Components = Record<'schemas' | 'parameters' | 'headers' | 'responses', Part>;

interface Operation extends Part {
  parameters?: Part[];
  responses: Record<string, Part>;
}

/**
 * Moves the shared parts of a document to `components` and refers to them: schemas and parameters
 * that have a `title`, under that name; response headers; and error responses that several
 * operations have, named after their status.
 * @throws Error if two different parts have the same name
 */
export function withComponents(document: Part): Part {
  const components: Components = { schemas: {}, parameters: {}, headers: {}, responses: {} };
  const { paths, webhooks, components: own, ...rest } = document;
  const { schemas, ...otherComponents } = Object(own);
  shareSchemas(Object.values(Object(schemas)), components);
  const parts = {
    paths: shareInPaths(paths, components),
    webhooks: shareSchemas(webhooks, components),
  };
  shareErrors(parts.paths, components);
  return { ...rest, ...parts, components: { ...otherComponents, ...components } };
}

function share(components: Components, kind: keyof Components, name: string, part: Part): Part {
  components[kind][name] ??= part;
  if (!isDeepStrictEqual(components[kind][name], part)) {
    throw new Error(`two different ${kind} of openapi.json are called ${name}`);
  }
  return { $ref: `#/components/${kind}/${name}` };
}

/**
 * Copies a document, replacing schemas that have a title with references. Each place keeps its
 * description.
 */
function shareSchemas(node: unknown, components: Components): unknown {
  if (Array.isArray(node)) return node.map((item) => shareSchemas(item, components));
  if (node === null || typeof node !== 'object') return node;
  const copy: Part = {};
  for (const [name, value] of Object.entries(node)) {
    copy[name] = /^examples?$/.test(name) ? value : shareSchemas(value, components);
  }
  // Client generators need the type.
  if (Array.isArray(copy.enum)) copy.type ??= 'string';
  const { title, description, ...schema } = copy;
  if (typeof title !== 'string') return copy;
  const reference = share(components, 'schemas', title, schema);
  return description === undefined ? reference : { ...reference, description };
}

function shareInPaths(paths: unknown, components: Components) {
  const shared: Record<string, Record<string, Operation>> = {};
  for (const [path, methods] of Object.entries<Record<string, Operation>>(Object(paths))) {
    shared[path] = mapped(methods, (operation) => shareInOperation(operation, components));
  }
  return shared;
}

function shareInOperation(operation: Operation, components: Components): Operation {
  const { parameters, responses, requestBody, ...rest } = operation;
  return {
    ...rest,
    ...(parameters && {
      parameters: parameters.map((parameter) => shareParameter(parameter, components)),
    }),
    ...(requestBody !== undefined && { requestBody: shareSchemas(requestBody, components) }),
    responses: mapped(responses, (response) => shareInResponse(response, components)),
  };
}

function shareParameter(parameter: Part, components: Components): Part {
  const { title, ...schema } = Object(parameter.schema);
  if (Array.isArray(schema.enum)) schema.type ??= 'string';
  if (typeof title !== 'string') return { ...parameter, schema };
  return share(components, 'parameters', title, { ...parameter, schema });
}

function shareInResponse(response: Part, components: Components): Part {
  const { headers, content, ...rest } = response;
  const shared = Object.entries<Part>(Object(headers)).map(([name, header]) => {
    const word = name.replace(/^X-|-/g, '');
    return [name, share(components, 'headers', word, header)];
  });
  const bodies = mapped(Object(content), ({ schema, ...media }: Part) => {
    const { description: _, ...described } = Object(schema); // the response has it
    return { schema: shareSchemas(described, components), ...media };
  });
  return {
    ...rest,
    headers: Object.fromEntries(shared),
    ...(content !== undefined && { content: bodies }),
  };
}

function shareErrors(paths: Record<string, Record<string, Operation>>, components: Components) {
  const operations = Object.values(paths).flatMap((methods) => Object.values(methods));
  const errors = operations.flatMap(({ responses }) =>
    Object.entries(responses).filter(([status]) => Number(status) >= 400),
  );
  for (const { responses } of operations) {
    for (const [status, response] of Object.entries(responses)) {
      const equal = errors.filter(([, other]) => isDeepStrictEqual(other, response));
      if (equal.length < 2) continue;
      const name = (STATUS_CODES[status] ?? status).replaceAll(' ', '');
      responses[status] = share(components, 'responses', name, response);
    }
  }
}

function mapped<Value, Result>(
  values: Record<string, Value>,
  change: (value: Value) => Result,
): Record<string, Result> {
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [name, change(value)]));
}
