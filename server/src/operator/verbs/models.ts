import type { CatalogModel, Rates } from '../../catalog/catalog.ts';
import { MODES, REQUEST_RATIOS } from '../../catalog/models.ts';
import { priceAfter, priceAt } from '../../catalog/price.ts';
import { NAME_SHAPE, retireModel, setModel } from '../../catalog/set-model.ts';
import { readCatalog } from '../../catalog/stored-models.ts';
import { readClockMs } from '../../database/clock.ts';
import type { Queryable } from '../../database/database.ts';
import { performAction } from '../actions.ts';
import { proposeModels } from '../proposed-models.ts';
import { choiceOf, optional, parsed, text, time } from '../verb/fields.ts';
import { verb } from '../verb/verb.ts';

const partsOf = (given: string) => given.split(',').map((part) => part.trim());

const names = (about: string) => optional(parsed(text(about, { word: 'A,B' }), partsOf));

const durations = parsed(
  text('Whole seconds that it makes, such as 5,10 or 4-12.', { word: 'S,S-S' }),
  (given, refuse) =>
    partsOf(given).flatMap((part) => {
      const [, first, last = first] = /^(\d{1,3})(?:-(\d{1,3}))?$/.exec(part) ?? [];
      const count = Number(last) - Number(first) + 1;
      if (!(count > 0)) return refuse('must be whole seconds such as 5,10 or 4-12');
      return Array.from({ length: count }, (_, i) => Number(first) + i);
    }),
);

const rates = (about: string) =>
  optional(
    parsed(text(about, { word: 'R=C,R=C' }), (given, refuse): Record<string, number> => {
      if (given === 'none') return {};
      const pairs = partsOf(given).map((part) => /^(\w+)=(\d{1,9})$/.exec(part));
      return Object.fromEntries(
        pairs.map((pair) => {
          const [, resolution = '', credits] = pair ?? refuse('must be such as 480p=25,720p=50');
          return [resolution, Number(credits)];
        }),
      );
    }),
  );

const yesOrNo = (about: string) =>
  optional(parsed(choiceOf(about, ['yes', 'no']), (given) => given === 'yes'));

const NAME = text('Its name: 2 to 63 characters of a-z, 0-9, ".", "_" and "-".', { word: 'NAME' });

const FIELDS = {
  name: text(NAME.about, {
    word: NAME.word,
    pattern: [NAME_SHAPE, 'must have 2 to 63 characters of a-z, 0-9, ".", "_" and "-"'],
  }),
  title: optional(text('The name that people read.', { word: 'T', max: 80 })),
  price: rates('Credits per second by resolution, such as 480p=25,720p=50.'),
  reference_price: rates(
    'Credits per second with reference videos; `none` if the model takes no reference videos.',
  ),
  from: optional(time('When a changed price takes effect.')),
  modes: names(`What it makes videos from: some of ${MODES.join(', ')}.`),
  durations: optional(durations),
  aspect_ratios: names(`Some of ${REQUEST_RATIOS.join(', ')}.`),
  sound: yesOrNo('Whether its videos can have sound.'),
  seed: yesOrNo('Whether it takes a seed.'),
  state: optional(choiceOf('hidden: in no list, but can be named.', ['offered', 'hidden'])),
};

export const MODELS = {
  'models list': verb({
    summary: 'List the built-in models and those that were added, with their prices',
    fields: {},
    run: async ({ db }) => {
      const { models } = await readCatalog(db);
      const at = await now(db);
      return models.map((model) => shown(model, at));
    },
  }),
  'models set': verb({
    summary: 'Add or change a model; what is left out stays. A changed price needs --from',
    fields: FIELDS,
    positional: ['name'],
    reason: 'required',
    dialog: { title: 'Set a model' },
    run: ({ db }, { name, ...wish }, action) =>
      performAction(
        db,
        action,
        { target: name, details: wish, before: (tx) => shownNamed(tx, name) },
        async (tx) => {
          const { changed, dropped } = await setModel(tx, { name, source: 'operator', wish });
          return { ...(await shownNamed(tx, name)), dropped, changed };
        },
      ),
  }),
  'models import': verb({
    summary: "Print the commands that would add a provider's models; it changes nothing",
    fields: {
      provider: text('A provider with a list of models, such as openrouter.', { word: 'PROVIDER' }),
      connection: optional(
        text('A connection to it, if it has another name than its provider.', { word: 'NAME' }),
      ),
    },
    positional: ['provider'],
    notOnConsole: 'it asks the provider with the variables of this machine',
    async run({ db, listVendorModels }, { provider, connection = provider }) {
      if (!listVendorModels) throw new Error('only the command line asks providers');
      const vendors = await listVendorModels(provider, connection);
      return proposeModels(vendors, connection, await readCatalog(db));
    },
  }),
  'models retire': verb({
    summary: 'Refuse new tasks for a model; its existing tasks go on and stay readable',
    fields: { name: NAME },
    positional: ['name'],
    reason: 'required',
    dialog: { title: 'Retire the model' },
    run: ({ db }, { name }, action) =>
      performAction(db, action, { target: name }, async (tx) => {
        const changed = await retireModel(tx, name);
        return { ...(await shownNamed(tx, name)), changed };
      }),
  }),
};

async function now(db: Queryable): Promise<Date> {
  return new Date(await readClockMs(db));
}

async function shownNamed(db: Queryable, wanted: string) {
  const { models } = await readCatalog(db);
  const found = models.find(({ name }) => name === wanted);
  return found && shown(found, await now(db));
}

/** A model, in the words of `models set`. */
function shown(model: CatalogModel, at: Date) {
  const { name, title, state, source, modes, durations, aspectRatios, audio, seed } = model;
  const [price, next] = [priceAt(model, at), priceAfter(model, at)];
  return {
    name,
    title,
    state,
    source,
    price: ratesText(price.standard),
    reference_price: ratesText(price.referenced),
    next_price: next ? ratesText(next.standard) : null,
    next_reference_price: next ? ratesText(next.referenced) : null,
    next_from: next?.from ?? null,
    modes: modes.join(','),
    durations: durations.join(','),
    aspect_ratios: aspectRatios.join(','),
    sound: audio ? 'yes' : 'no',
    seed: seed ? 'yes' : 'no',
  };
}

function ratesText(rates: Rates): string {
  const texts = Object.entries(rates).map(([resolution, credits]) => `${resolution}=${credits}`);
  return texts.join(',') || 'none';
}
