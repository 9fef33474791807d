import type { RefObject } from 'preact';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { useLocation } from 'preact-iso';
import type { ShownTask } from '../../../../server/src/site/tasks/shown-task.ts';
import { api, besideField } from '../../api.ts';
import { useDraft } from '../../draft.ts';
import { useLoad } from '../../load.ts';
import { availableOf, useMe, useMode } from '../../session.tsx';
import { Link } from '../../ui/button.tsx';
import { CodeTabs } from '../../ui/code.tsx';
import { Page } from '../../ui/page.tsx';
import { Load, Skeleton } from '../../ui/states.tsx';
import { toast } from '../../ui/toast.tsx';
import {
  type Body,
  bodyOf,
  bodySchemaOf,
  type Form,
  formFromKept,
  formOf,
  keptForm,
  MEDIA_FIELDS,
  type MediaField,
  type Medium,
  missingIn,
  type Rules,
} from './form-model.ts';
import { type GivenRequest, givenRequest } from './given-request.ts';
import { PriceBox, useQuote } from './price-box.tsx';
import { Result } from './result.tsx';
import { followedRequest, type Generation, useRuns } from './runs.ts';
import { publicBody, samplesOf } from './samples.ts';
import { Settings } from './settings.tsx';
import { TestOutcomes } from './test-outcomes.tsx';

export default function PlaygroundPage() {
  const { query } = useLocation();
  const document = useLoad('/openapi.json');
  const prices = useLoad('/console/api/prices');
  const { from, request } = query;
  const earlier = useLoad('/console/api/tasks/:id', from ? { params: { id: from } } : undefined);
  const data =
    document.data && prices.data && (!from || earlier.data)
      ? { document: document.data, prices: prices.data }
      : undefined;
  const loaded = {
    data,
    error: document.error ?? prices.error ?? earlier.error,
    reload: async () => {
      await Promise.all([document, prices, earlier].map((one) => one.reload()));
    },
  };
  return (
    <Page title="Playground" lead="Describe a video, see what it costs, and watch it being made.">
      <Load from={loaded} skeleton={<Skeleton lines={14} />}>
        {(data) => {
          const rules = { schema: bodySchemaOf(data.document), prices: data.prices };
          const given = from || !request ? undefined : givenRequest(request, rules);
          const name = from ?? request ?? '';
          const first = earlier.data?.request ?? given?.body;
          return (
            <>
              {given && <FilledIn {...given} />}
              <Playground key={name} name={name} rules={rules} first={first && { ...first }} />
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
          Left out, because the API does not take it: {refused.slice(0, MOST_NAMED).join(', ')}
        </p>
      )}
    </div>
  );
}

const MOST_NAMED = 8;

interface PlaygroundProps {
  /** The draft's name: the id of the task being repeated, or the request in the URL. */
  name: string;
  rules: Rules;
  first: Body | undefined;
}

/** The form as it was left, or filled from an earlier request or a link. */
function useForm({ name, rules: { schema }, first }: PlaygroundProps) {
  const me = useMe();
  const initial = () => formOf({ ...(first ?? followedRequest(me)) }, schema);
  const kept = { keep: keptForm, read: (form: unknown) => formFromKept(form, schema) };
  return useDraft<Form>(`playground ${name}`, initial, kept);
}

function Playground(props: PlaygroundProps) {
  const { rules } = props;
  const me = useMe();
  const { value: form, set, change } = useForm(props);
  const [tries, setTries] = useState(0);
  const settings = useRef<HTMLDivElement>(null);
  const result = useRef<HTMLDivElement>(null);
  const { runs, generate, ...actions } = useRuns(me);
  const newest = runs[0]?.generation;
  const price = useQuote(form, rules.prices, availableOf(me));
  const onMedia = (field: MediaField, next: (before: Medium[]) => Medium[]) =>
    change((before) => {
      return { ...before, media: { ...before.media, [field]: next(before.media[field]) } };
    });
  useEffect(() => void describeUploads(form, onMedia), []);
  useEffect(() => showFirstError(settings.current), [tries]);
  useShown(result, newest?.kind);
  const missing = missingIn(form, rules);
  const errors = { ...(tries > 0 ? missing : {}), ...refusalsOf(newest) };
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    setTries(tries + 1);
    if (Object.keys(missing).length === 0) void generate(bodyOf(form, rules));
  };
  const sizeOf = ({ resolution, aspect_ratio: ratio }: ShownTask) =>
    ratio === 'adaptive' ? undefined : rules.prices.frames[resolution][ratio];
  return (
    <form noValidate onSubmit={submit} class={COLUMNS}>
      <div ref={settings} class="grid min-w-0 gap-8">
        <TestOutcomes value={form.prompt} onChange={(prompt) => set({ prompt })} />
        <Settings form={form} rules={rules} errors={errors} onMedia={onMedia} onChange={set} />
      </div>
      <div class={`${BESIDE} ${runs.length === 0 ? ALONE : ''}`}>
        <PriceBox price={price} isBusy={newest?.kind === 'sending'} />
        <div ref={result} class="grid scroll-mt-24 grid-cols-[minmax(0,1fr)] gap-10 empty:hidden">
          {runs.map((run) => (
            <Result key={run.submission.key} run={run} sizeOf={sizeOf} {...actions} />
          ))}
        </div>
      </div>
      <Request form={form} rules={rules} />
    </form>
  );
}

/** If the results are taller than the form, the last row stretches; its content stays on top. */
const COLUMNS =
  'grid grid-cols-[minmax(0,1fr)] items-start gap-8 lg:grid-cols-[minmax(0,1fr)_21rem] lg:grid-rows-[auto_1fr]';

/** Price and results stand beside the form, where they can't shift it. */
const BESIDE = 'grid grid-cols-[minmax(0,1fr)] gap-8 lg:row-span-2';
/** Without results, the price is sticky; with results, it scrolls with the page as they do. */
const ALONE = 'lg:sticky lg:top-24';

function showFirstError(settings: HTMLElement | null): void {
  const first = settings?.querySelector<HTMLElement>('[aria-invalid="true"], [role="alert"]');
  first?.scrollIntoView({ block: 'center' });
  first?.focus();
}

/** From this width on, results are beside the form (Tailwind's `lg`). */
const BESIDE_WIDTH = 1024;
/** How many visible pixels of a result beside the form are enough. */
const LEAST_SHOWN = 100;

/** Scrolls a request's result into view: on a phone it is below the button, often out of sight. */
function useShown(result: RefObject<HTMLElement | null>, kind: string | undefined): void {
  const before = useRef(kind);
  useEffect(() => {
    const isAnswer = before.current === 'sending' && kind !== 'sending';
    before.current = kind;
    if (!isAnswer || !result.current) return;
    const { top } = result.current.getBoundingClientRect();
    const room = innerWidth < BESIDE_WIDTH ? innerHeight / 2 : LEAST_SHOWN;
    if (top < 0 || top > innerHeight - room) result.current.scrollIntoView();
  }, [kind]);
}

function refusalsOf(generation: Generation | undefined): Record<string, string> {
  if (generation?.kind !== 'refused') return {};
  const { error } = generation;
  const { field } = error.details;
  return typeof field === 'string' ? { [field]: besideField(error) } : {};
}

/** Reads an earlier request's uploads, dropping expired ones. */
async function describeUploads(
  form: Form,
  onMedia: (field: MediaField, change: (before: Medium[]) => Medium[]) => void,
): Promise<void> {
  for (const field of MEDIA_FIELDS) {
    for (const { key, url } of form.media[field]) {
      if (!url.startsWith('upload:')) continue;
      const named = { params: { id: url.slice('upload:'.length) } };
      const upload = await api('GET /console/api/uploads/:id', named).catch(() => undefined);
      if (!upload) toast('A file of that video has expired: upload it again.', 'bad');
      onMedia(field, (before) =>
        before.flatMap((one) => {
          if (one.key !== key) return [one];
          return upload ? [{ ...one, upload }] : [];
        }),
      );
    }
  }
}

function Request({ form, rules }: { form: Form; rules: Rules }) {
  const samples = useMemo(() => {
    const { origin } = location;
    return samplesOf(origin, publicBody(bodyOf(form, rules), origin));
  }, [form, rules]);
  return (
    <section aria-labelledby="request" class="grid grid-cols-[minmax(0,1fr)] gap-3">
      <h2 id="request" class="text-heading">
        The same request to the API
      </h2>
      <p class="max-w-[60ch] text-dim">
        {useMode() === 'test' ? (
          <>
            Send it with a <Link href="/keys">test key</Link>.
          </>
        ) : (
          <>
            Send it with an <Link href="/keys">API key</Link>. The API spends paid credits only.
          </>
        )}
      </p>
      <CodeTabs label="Create this video" samples={samples} />
    </section>
  );
}
