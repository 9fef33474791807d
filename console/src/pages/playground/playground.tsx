import type { RefObject } from 'preact';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { useLocation } from 'preact-iso';
import { api, besideField } from '../../api.ts';
import { useDraft } from '../../draft.ts';
import { useListener, useLoad } from '../../load.ts';
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
import { Notices } from './notices.tsx';
import { PriceBox, useQuote } from './price-box.tsx';
import { type Run, useRuns } from './runs.ts';
import { publicBody, samplesOf } from './samples.ts';
import { Screen } from './screen.tsx';
import { Settings } from './settings.tsx';
import { useTasks } from './strip.tsx';
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
  const initial = () => formOf({ ...first }, schema);
  const kept = { keep: keptForm, read: (form: unknown) => formFromKept(form, schema) };
  return useDraft<Form>(`playground ${name}`, initial, kept);
}

function Playground(props: PlaygroundProps) {
  const { rules } = props;
  const me = useMe();
  const { value: form, set, change } = useForm(props);
  const [tries, setTries] = useState(0);
  const page = useRef<HTMLFormElement>(null);
  const settings = useRef<HTMLDivElement>(null);
  const result = useRef<HTMLDivElement>(null);
  const [shown, show] = useState<string>();
  const [made, setMade] = useState<string>();
  const tasks = useTasks();
  const { runs, generate, ...actions } = useRuns(me, ({ id }) => {
    show(id);
    setMade(id);
    void tasks.reload();
  });
  const refused = runs.find((run) => run.kind === 'refused');
  const price = useQuote(form, rules.prices, availableOf(me));
  const onMedia = (field: MediaField, next: (before: Medium[]) => Medium[]) =>
    change((before) => {
      return { ...before, media: { ...before.media, [field]: next(before.media[field]) } };
    });
  useEffect(() => void describeUploads(form, onMedia), []);
  useEffect(() => showFirstError(settings.current), [tries]);
  useShown(result, `${made} ${runs.filter(({ kind }) => kind !== 'sending').length}`);
  useListener(['keydown'], (event) => isSending(event) && page.current?.requestSubmit());
  const missing = missingIn(form, rules);
  const errors = { ...(tries > 0 ? missing : {}), ...refusalsOf(refused) };
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    if (price.quote?.is_affordable === false) return;
    setTries(tries + 1);
    if (Object.keys(missing).length === 0) void generate([bodyOf(form, rules)]);
  };
  return (
    <form ref={page} noValidate onSubmit={submit} class={COLUMNS}>
      <div class="contents min-w-0 lg:flex lg:flex-col lg:gap-6">
        <div ref={settings} class="grid grid-cols-[minmax(0,1fr)] gap-8">
          <TestOutcomes value={form.prompt} onChange={(prompt) => set({ prompt })} />
          <Settings form={form} rules={rules} errors={errors} onMedia={onMedia} onChange={set} />
        </div>
        <PriceBox price={price} isBusy={runs.some(({ kind }) => kind === 'sending')} />
      </div>
      <div ref={result} class="grid scroll-mt-24 grid-cols-[minmax(0,1fr)] gap-8">
        <Notices runs={runs} {...actions} />
        <Screen items={tasks.items} shown={shown} onShow={show} />
        <Request form={form} rules={rules} />
      </div>
    </form>
  );
}

/** A phone has one column, so that the price sticks to its lower edge on the whole page. */
const COLUMNS =
  'flex flex-col gap-8 lg:grid lg:grid-cols-[25rem_minmax(0,1fr)] lg:items-start xl:gap-10';

function isSending(event: Event): boolean {
  return (
    event instanceof KeyboardEvent && event.key === 'Enter' && (event.ctrlKey || event.metaKey)
  );
}

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
function useShown(result: RefObject<HTMLElement | null>, answer: string): void {
  const before = useRef(answer);
  useEffect(() => {
    if (before.current === answer || !result.current) return;
    before.current = answer;
    const { top } = result.current.getBoundingClientRect();
    const room = innerWidth < BESIDE_WIDTH ? innerHeight / 2 : LEAST_SHOWN;
    if (top < 0 || top > innerHeight - room) result.current.scrollIntoView();
  }, [answer]);
}

function refusalsOf(run: Run | undefined): Record<string, string> {
  if (run?.kind !== 'refused') return {};
  const { error } = run;
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
