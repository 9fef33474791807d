/** The parameters of a request, as Stripe nests them: `a[b][0]=c`. */
export type Params = { [name: string]: Param };
type Param = string | Params | Param[];

/** A refusal in Stripe's form. */
export class StripeRefusal extends Error {
  readonly status: number;
  readonly body: { type: string; code?: string; message: string; [more: string]: unknown };

  constructor(status: number, body: StripeRefusal['body']) {
    super(body.message);
    this.status = status;
    this.body = body;
  }
}

export function invalid(message: string, code?: string): StripeRefusal {
  return new StripeRefusal(400, {
    type: 'invalid_request_error',
    ...(code && { code }),
    message,
  });
}

/** @param param the parameter that names the object; undefined: the path names it */
export function noSuch(kind: string, id: string, param?: string): StripeRefusal {
  return new StripeRefusal(param === undefined ? 404 : 400, {
    type: 'invalid_request_error',
    code: 'resource_missing',
    message: `No such ${kind}: '${id}'`,
    ...(param !== undefined && { param }),
  });
}

/**
 * Parses a form or a query, and refuses parameters that the call does not have.
 * @param allowed names such as `line_items[][quantity]`; `metadata[*]` allows any name
 */
export function parseForm(text: string, allowed: readonly string[]): Params {
  const params: Params = {};
  for (const [name, value] of new URLSearchParams(text)) {
    const path = [...name.matchAll(/[^[\]]+/g)].map(([part]) => part);
    const pattern = path
      .map((part, i) => (i === 0 ? part : /^\d+$/.test(part) ? '[]' : `[${part}]`))
      .join('');
    if (!allowed.some((one) => matches(one, pattern))) {
      throw invalid(`Received unknown parameter: ${name}`, 'parameter_unknown');
    }
    put(params, path, value);
  }
  return params;
}

function matches(allowed: string, pattern: string): boolean {
  if (allowed === pattern || (allowed === 'expand' && pattern === 'expand[]')) return true;
  return allowed.endsWith('[*]') && pattern.startsWith(allowed.slice(0, -2));
}

function put(params: Params, [name = '', ...rest]: string[], value: string): void {
  if (rest.length === 0) {
    params[name] = value;
    return;
  }
  const inner = params[name];
  const nested: Params = typeof inner === 'object' && !Array.isArray(inner) ? inner : {};
  params[name] = nested;
  put(nested, rest, value);
}

/** The text of a parameter; undefined if it is missing. */
export function textOf(params: Params, name: string): string | undefined {
  const value = params[name];
  return typeof value === 'string' && value !== '' ? value : undefined;
}

/** @throws StripeRefusal if it is missing */
export function required(params: Params, name: string): string {
  const value = textOf(params, name);
  if (value === undefined) throw invalid(`Missing required param: ${name}.`, 'parameter_missing');
  return value;
}

export function wholeOf(params: Params, name: string): number {
  const text = required(params, name);
  if (!/^-?\d+$/.test(text)) throw invalid(`Invalid integer: ${text}`, 'parameter_invalid_integer');
  return Number(text);
}

/** A parameter with members; empty if it is missing. */
export function membersOf(params: Params, name: string): Params {
  const value = params[name];
  return typeof value === 'object' && !Array.isArray(value) ? value : {};
}

/** The entries of a list, which arrives as `name[0]`, `name[1]`. */
export function entriesOf(params: Params, name: string): Params[] {
  return Object.values(membersOf(params, name)).filter(
    (entry): entry is Params => typeof entry === 'object' && !Array.isArray(entry),
  );
}

export function textsOf(params: Params, name: string): string[] {
  return Object.values(membersOf(params, name)).filter((entry) => typeof entry === 'string');
}
