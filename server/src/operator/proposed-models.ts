import { type Catalog, type CatalogModel, modelNamed } from '../catalog/catalog.ts';
import {
  type ProposedModel,
  proposedNames,
  proposeModel,
  type VendorModel,
} from '../catalog/proposed-model.ts';

/** A placeholder for a price: `models set` refuses the command until the operator replaces it. */
const NO_PRICE = 'CREDITS';

/**
 * The commands that would add a provider's models to the catalog and route them to a connection.
 * Models that are in the catalog already keep their title, prices and state.
 */
export function proposeModels(vendors: VendorModel[], connection: string, catalog: Catalog) {
  const reserved = catalog.models
    .filter(({ source }) => source !== 'operator')
    .map(({ name }) => name);
  const names = proposedNames(
    vendors.map(({ id }) => id),
    reserved,
  );
  const models: ReturnType<typeof shownProposal>[] = [];
  const left_out: { id: string; because: string }[] = [];
  for (const [i, vendor] of vendors.entries()) {
    const name = names[i];
    const proposed = name === undefined ? "its id can't become a name" : proposeModel(vendor, name);
    if (typeof proposed === 'string') left_out.push({ id: vendor.id, because: proposed });
    else
      models.push(
        shownProposal(vendor, proposed, { connection, before: modelNamed(catalog, proposed.name) }),
      );
  }
  return { models, left_out };
}

function shownProposal(
  { id, lacks, prices }: VendorModel,
  { name, dropped, ...proposed }: ProposedModel,
  { connection, before }: { connection: string; before: CatalogModel | undefined },
) {
  const isNew = before === undefined;
  const price = proposed.resolutions.map((resolution) => `${resolution}=${NO_PRICE}`);
  const options = {
    ...(isNew && { title: proposed.title.slice(0, 80), price: price.join(',') }),
    modes: proposed.modes.join(','),
    durations: ranges(proposed.durations),
    'aspect-ratios': proposed.aspectRatios.join(','),
    sound: proposed.sound ? 'yes' : 'no',
    seed: proposed.seed ? 'yes' : 'no',
    ...(isNew && { state: 'hidden' }),
  };
  return {
    id,
    state: before?.state ?? 'new',
    set: commandLine(['models', 'set', name], options),
    route: commandLine(['routes', 'set', name, `${connection} model=${id}`]),
    vendor_prices: listed(Object.entries(prices).map(([unit, price]) => `${unit}=${price}`)),
    dropped: listed(Object.entries(dropped).map(([field, values]) => `${field} ${ranges(values)}`)),
    lacks: listed(lacks),
  };
}

function listed(texts: readonly string[]): string {
  return texts.join('; ') || 'none';
}

function commandLine(words: string[], options: Record<string, string> = {}): string {
  const reason = { ...options, reason: 'models import' };
  const given = Object.entries(reason).flatMap(([option, value]) => [`--${option}`, value]);
  return ['npx', '--no-install', 'framewright', ...words, ...given].map(quoted).join(' ');
}

/** Makes a text one word for a shell, because the texts of providers are not trusted. */
function quoted(text: string): string {
  const plain = text.replaceAll(/\p{Cc}/gu, ' ');
  return /^[\w.,:=/-]+$/.test(plain) ? plain : `'${plain.replaceAll("'", "'\\''")}'`;
}

/** Whole numbers as `models set` reads them, such as 4-15; other values as they are. */
function ranges(values: readonly (string | number)[]): string {
  const parts: { first: string | number; last: string | number }[] = [];
  for (const value of values) {
    const part = parts.at(-1);
    if (part && typeof part.last === 'number' && value === part.last + 1) part.last = value;
    else parts.push({ first: value, last: value });
  }
  return parts.map(({ first, last }) => (first === last ? first : `${first}-${last}`)).join(',');
}
