import { ignoringErrors } from '../../personal.ts';
import { type Body, MEDIA_FIELDS, offersOf, type Property, type Rules } from './form-model.ts';

/** What a URL like `/playground?request={"prompt":"A boat"}` fills into the form. */
export interface GivenRequest {
  body: Body;
  /** Fields in the URL that the form ignores. */
  refused: string[];
}

/** A link that fills in the form. Leaves out uploads, which only their account can use. */
export function linkTo(body: Body, origin: string): string {
  const isUpload = (url: unknown) => String(url).startsWith('upload:');
  const uploads = MEDIA_FIELDS.filter((field) => [body[field]].flat().some(isUpload));
  const shared = Object.entries(body).filter(([field]) => !uploads.some((one) => one === field));
  return `${origin}/playground?request=${encodeURIComponent(JSON.stringify(Object.fromEntries(shared)))}`;
}

/**
 * Reads the body of a create from a URL. Anyone can craft such a URL, so only a create's fields
 * with values that the API accepts are used, and files only as https URLs.
 * @param text JSON
 * @returns no fields if the text is not a JSON object
 */
export function givenRequest(text: string, rules: Rules): GivenRequest {
  const given: unknown = ignoringErrors(() => JSON.parse(text));
  if (typeof given !== 'object' || given === null || Array.isArray(given)) {
    return { body: {}, refused: ['request'] };
  }
  const { properties } = rules.schema;
  const isTaken = ([name, value]: [string, unknown]) =>
    Object.hasOwn(properties, name) && fits(value, properties[name] ?? {});
  const taken = Object.entries(given).filter(isTaken);
  const body = withoutUnoffered(Object.fromEntries(taken), rules);
  return { body, refused: Object.keys(given).filter((name) => !Object.hasOwn(body, name)) };
}

function fits(value: unknown, rule: Property): boolean {
  if (rule.enum) return typeof value === 'string' && rule.enum.includes(value);
  if (rule.type === 'boolean') return typeof value === 'boolean';
  if (rule.type === 'integer') {
    const { minimum = 0, maximum = Number.MAX_SAFE_INTEGER } = rule;
    return Number.isInteger(value) && Number(value) >= minimum && Number(value) <= maximum;
  }
  if (rule.type === 'array') {
    const { maxItems = 0, items = {} } = rule;
    return (
      Array.isArray(value) && value.length <= maxItems && value.every((item) => fits(item, items))
    );
  }
  if (typeof value !== 'string' || value.length > (rule.maxLength ?? 0)) return false;
  return rule.format !== 'uri' || isPlainAddress(value);
}

function isPlainAddress(text: string): boolean {
  const url = URL.parse(text);
  return url?.protocol === 'https:' && url.username === '' && url.password === '';
}

function withoutUnoffered(body: Body, rules: Rules): Body {
  const { model, reference_video_urls: videos, reference_video_durations: seconds } = body;
  const { model: byDefault } = rules.schema.properties;
  const offers = offersOf({ model: String(model ?? byDefault?.default) }, rules);
  const count = (list: unknown) => (Array.isArray(list) ? list.length : 0);
  const isOffered = (name: string, offered: readonly unknown[]) =>
    body[name] === undefined || offered.includes(body[name]);
  const unoffered = [
    ...Object.entries(offers).map(([name, offered]) => !isOffered(name, offered) && name),
    seconds !== undefined && count(seconds) !== count(videos) && 'reference_video_durations',
  ];
  return Object.fromEntries(Object.entries(body).filter(([name]) => !unoffered.includes(name)));
}
