/** A copy of a part of openapi.json in which each reference is replaced by what it names. */
// biome-ignore lint/suspicious/noExplicitAny: parts of every shape
export function resolved(part: unknown, document: unknown): any {
  if (Array.isArray(part)) return part.map((one) => resolved(one, document));
  if (part === null || typeof part !== 'object') return part;
  const { $ref, ...own } = Object(part);
  const named = typeof $ref === 'string' ? Object(resolved(namedBy($ref, document), document)) : {};
  const members = Object.entries(own).map(([name, one]) => [name, resolved(one, document)]);
  return { ...named, ...Object.fromEntries(members) };
}

/** @throws Error if the document has no such part */
function namedBy(reference: string, document: unknown): unknown {
  const names = reference.replace(/^#\//, '').split('/');
  const part = names.reduce<unknown>((parent, name) => Object(parent)[name], document);
  if (part === undefined) throw new Error(`openapi.json has no ${reference}`);
  return part;
}
