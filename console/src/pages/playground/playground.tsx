import type { RefObject } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { useLocation } from 'preact-iso';
import type { ShownTask } from '../../../../server/src/site/tasks/shown-task.ts';
import { besideField } from '../../api.ts';
import { useDraft } from '../../draft.ts';
import { useLoad } from '../../load.ts';
import { availableOf, useMe, useSession } from '../../session.tsx';
import { useSending } from '../../ui/form/sending.tsx';
import { Page } from '../../ui/page.tsx';
import { Load, Skeleton } from '../../ui/states.tsx';
import { toast } from '../../ui/toast.tsx';
import { ApiRequest } from './api-request.tsx';
import { useFiles } from './files.ts';
import {
  type Body,
  bodyOf,
  bodySchemaOf,
  type Form,
  formFromKept,
  formOf,
  isUploading,
  keptForm,
  MEDIA_FIELDS,
  type MediaField,
  missingIn,
  type Rules,
  takesSeed,
  variationsOf,
} from './form-model.ts';
import { type GivenRequest, givenRequest } from './given-request.ts';
import { Notices } from './notices.tsx';
import { PriceBox, useQuote } from './price-box.tsx';
import { useProgress } from './progress.tsx';
import { type Run, useRuns } from './runs.ts';
import { Screen } from './screen.tsx';
import { Settings } from './settings.tsx';
import { useShortcuts } from './shortcuts.tsx';
import { useTasks } from './strip.tsx';
import { TestOutcomes } from './test-outcomes.tsx';

export default function PlaygroundPage() {
  const { query } = useLocation();
  const openapi = useLoad('/openapi.json');
  const prices = useLoad('/console/api/prices');
  const { from, request } = query;
  const earlier = useLoad('/console/api/tasks/:id', from ? { params: { id: from } } : undefined);
  const data =
    openapi.data && prices.data && (!from || earlier.data)
      ? { openapi: openapi.data, prices: prices.data }
      : undefined;
  const loaded = {
    data,
    error: openapi.error ?? prices.error ?? earlier.error,
    reload: async () => {
      await Promise.all([openapi, prices, earlier].map((loaded) => loaded.reload()));
    },
  };
  return (
    <Page title="Playground" lead="Describe a video, see what it costs, and watch it being made.">
      <Load from={loaded} skeleton={<Skeleton lines={14} />}>
        {(data) => {
          const rules = { schema: bodySchemaOf(data.openapi), prices: data.prices };
          const given = from || !request ? undefined : givenRequest(request, rules);
          const name = from ?? request ?? '';
          const initialBody = earlier.data?.request ?? given?.body;
          return (
            <>
              {given && <FilledIn {...given} />}
              <Playground
                key={name}
                name={name}
                rules={rules}
                initialBody={initialBody && { ...initialBody }}
              />
            </>
          );
        }}
      </Load>
    </Page>
  );
}

function FilledIn({ refused }: GivenRequest) {
  return (
    <div role="status" class="mb-8 max-w-[60ch] border-l-4 border-tungsten pl-4">
      <p class="font-medium">A link has filled in this form.</p>
      <p class="text-dim">Nothing is sent before you press Generate.</p>
      {refused.length > 0 && (
        <p class="mt-1 text-bad [overflow-wrap:anywhere]">
          Left out, because the API does not take it: {refused.slice(0, MAX_NAMED).join(', ')}
        </p>
      )}
    </div>
  );
}

const MAX_NAMED = 8;

interface PlaygroundProps {
  /** The draft's name: the id of the task being repeated, or the request in the URL. */
  name: string;
  rules: Rules;
  /** The request of the task or link; undefined: the form begins empty. */
  initialBody: Body | undefined;
}

/** The form as it was left, or filled from an earlier request or a link. */
function useForm({ name, rules: { schema }, initialBody }: PlaygroundProps) {
  const initial = () => formOf({ ...initialBody }, schema);
  const codec = { encode: keptForm, decode: (form: unknown) => formFromKept(form, schema) };
  return useDraft<Form>(`playground ${name}`, initial, codec);
}

function Playground(props: PlaygroundProps) {
  const { rules } = props;
  const { value: form, set, change } = useForm(props);
  const files = useFiles(form, rules, change);
  const page = useRef<HTMLFormElement>(null);
  const settings = useRef<HTMLDivElement>(null);
  const result = useRef<HTMLDivElement>(null);
  const [tries, setTries] = useState(0);
  const generation = useGeneration(form, rules);
  const { tasks, runs, actions, shown, show, resultKey, priceBox, send } = generation;
  useEffect(() => showFirstError(settings.current), [tries]);
  useScrollToResult(result, resultKey);
  useShortcuts(page);
  useProgress(tasks.items);
  const missing = missingIn(form, rules);
  const refusals = refusalsOf(runs.find(({ kind }) => kind === 'refused'));
  const errors = { ...(tries > 0 ? missing : {}), ...refusals };
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    if (priceBox.isBusy || priceBox.price.quote?.is_affordable === false) return;
    const isComplete = Object.keys(missing).length === 0;
    setTries(isComplete ? 0 : tries + 1);
    if (isComplete) void send();
  };
  const uses = {
    onRequest({ request }: ShownTask) {
      files.fill(formOf(request, rules.schema));
      toast('The form now has the request of this video.');
      settings.current?.scrollIntoView();
    },
    onSeed(seed: number) {
      set({ extras: { ...form.extras, seed: String(seed) } });
      toast('The form now has the seed of this video.');
    },
    onFile: (file: File, field: MediaField) =>
      field === 'image_url' ? files.replace(file, field) : files.add([file]),
  };
  return (
    <form ref={page} noValidate onSubmit={submit} class={COLUMNS}>
      <div class="contents min-w-0 lg:flex lg:flex-col lg:gap-6">
        <div ref={settings} class="grid grid-cols-[minmax(0,1fr)] gap-8">
          <TestOutcomes value={form.prompt} onChange={(prompt) => set({ prompt })} />
          <Settings
            form={form}
            rules={rules}
            errors={errors}
            onMedia={files.onMedia}
            onFiles={files.add}
            onChange={set}
            onFill={(request) => files.fill(formOf(request, rules.schema))}
          />
        </div>
        <PriceBox {...priceBox} isUploading={MEDIA_FIELDS.some((one) => isUploading(form, one))} />
      </div>
      <div ref={result} class="grid scroll-mt-24 grid-cols-[minmax(0,1fr)] gap-8">
        <Notices runs={runs} {...actions} />
        <Screen tasks={tasks} shown={shown} onShow={show} uses={uses} />
        <ApiRequest form={form} rules={rules} />
      </div>
    </form>
  );
}

/** Prices and sends the form's request, and lists the account's newest tasks. */
function useGeneration(form: Form, rules: Rules) {
  const me = useMe();
  const { refresh } = useSession();
  const [shown, show] = useState<string>();
  const [made, setMade] = useState<string>();
  const [count, onCount] = useState(1);
  const tasks = useTasks();
  const { runs, generate, ...actions } = useRuns(me, ({ id }) => {
    show(id);
    setMade(id);
    void tasks.reload();
  });
  const price = useQuote(form, count, rules.prices, availableOf(me));
  const { isBusy, failure, send } = useSending(async () => {
    if (count > 1 && !(await price.isPayable())) {
      void refresh();
      throw new Error(TOO_FEW_CREDITS);
    }
    await generate(variationsOf(bodyOf(form, rules), count, rules));
  });
  const isSending = isBusy || runs.some(({ kind }) => kind === 'sending');
  /** Changes whenever a request has a result. */
  const resultKey = `${made} ${runs.filter(({ kind }) => kind !== 'sending').length}`;
  const seeds = seedsText(form, rules);
  const priceBox = { price, count, onCount, seeds, failure, isBusy: isSending };
  return { tasks, runs, actions, shown, show, resultKey, priceBox, send };
}

const TOO_FEW_CREDITS = 'Nothing was sent: you don’t have enough credits for all of these videos.';

function seedsText(form: Form, rules: Rules): string {
  if (!takesSeed(form, rules)) return 'This model takes no seed: it simply runs again.';
  const isGiven = Number(form.extras.seed || -1) >= 0;
  return isGiven ? 'Their seeds count up from yours.' : 'Each gets a seed of its own.';
}

/** A phone has one column, so that the price sticks to its lower edge on the whole page. */
const COLUMNS =
  'flex flex-col gap-8 lg:grid lg:grid-cols-[25rem_minmax(0,1fr)] lg:items-start xl:gap-10';

function showFirstError(settings: HTMLElement | null): void {
  const first = settings?.querySelector<HTMLElement>('[aria-invalid="true"], [role="alert"]');
  first?.scrollIntoView({ block: 'center' });
  first?.focus();
}

/** From this width on, results are beside the form (Tailwind's `lg`). */
const BESIDE_WIDTH = 1024;
/** How many visible pixels of a result beside the form are enough. */
const LEAST_SHOWN = 100;

/** Scrolls a request's result into view: on a phone it is below the form, often out of sight. */
function useScrollToResult(result: RefObject<HTMLElement | null>, resultKey: string): void {
  const before = useRef(resultKey);
  useEffect(() => {
    if (before.current === resultKey || !result.current) return;
    before.current = resultKey;
    const { top } = result.current.getBoundingClientRect();
    const room = innerWidth < BESIDE_WIDTH ? innerHeight / 2 : LEAST_SHOWN;
    if (top < 0 || top > innerHeight - room) result.current.scrollIntoView();
  }, [resultKey]);
}

function refusalsOf(run: Run | undefined): Record<string, string> {
  if (run?.kind !== 'refused') return {};
  const { error } = run;
  const { field } = error.details;
  return typeof field === 'string' ? { [field]: besideField(error) } : {};
}
