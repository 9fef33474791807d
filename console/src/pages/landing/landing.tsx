import type { ComponentChildren } from 'preact';
import { useEffect } from 'preact/hooks';
import { useLocation } from 'preact-iso';
import type { About } from '../../../../server/src/site/about.ts';
import { brand } from '../../brand.ts';
import { type Loaded, useLoad } from '../../load.ts';
import {
  FIRST_IDEMPOTENCY_KEY,
  FIRST_REQUEST,
  fwSample,
  pythonSample,
  typeScriptSample,
} from '../../samples.ts';
import { useSession } from '../../session.tsx';
import { ButtonLink } from '../../ui/button.tsx';
import { CodeTabs } from '../../ui/code.tsx';
import { useTitle } from '../../ui/page.tsx';
import { RateTable } from '../pricing/rate-table.tsx';
import { Screening } from './screening.tsx';

export default function LandingPage() {
  const { state } = useSession();
  const { route } = useLocation();
  const site = useLoad('/console/api/site');
  useTitle('');
  useEffect(() => {
    if (state.kind === 'in') route('/playground', true);
  }, [state.kind]);
  if (state.kind === 'in' || (state.kind === 'loading' && state.wasIn)) return null;
  return (
    <>
      <Opening />
      <Tracks />
      <OneRequest apiUrl={site.data?.api_url} />
      <Prices site={site} />
      <Closing />
    </>
  );
}

function Opening() {
  return (
    <section class="mx-auto max-w-[76rem] px-4 pt-14 sm:px-8 sm:pt-24">
      <h1
        tabIndex={-1}
        class={`${brand.hero_text ? 'max-w-[20ch] break-words' : 'max-w-[13ch]'} text-display`}
      >
        {brand.hero_text ?? 'Pay for the video, not for the attempt.'}
      </h1>
      <div class="mt-9 grid gap-x-16 gap-y-8 sm:mt-12 lg:grid-cols-[1fr_auto] lg:items-end">
        <p class="max-w-[46ch] text-lg leading-relaxed text-dim">
          An API for generated video, with prepaid credits. You send a text, images or clips, and
          get a finished video file. Its credits are reserved first, and charged only when the file
          is stored for you.
        </p>
        <div class="flex flex-wrap gap-2.5">
          <ButtonLink href="/sign-in" look="primary">
            Sign in and make a video
          </ButtonLink>
          <ButtonLink href="/pricing">See the prices</ButtonLink>
        </div>
      </div>
      <Screening />
    </section>
  );
}

function Prices({ site }: { site: Loaded<About> }) {
  return (
    <Part
      mark="00:03"
      title="The price is known before you send."
      text="Credits per second of video. The price is fixed when the request is accepted; nothing is added later."
    >
      <RateTable from={site} kind="standard" />
      {site.data && site.data.signup_credits > 0 && (
        <p class="mt-6 border-l-4 border-tungsten pl-4">
          A new account starts with <span class="figures">{site.data.signup_credits}</span> credits
          for the playground.
        </p>
      )}
      <p class="mt-6">
        <ButtonLink href="/pricing" icon="arrow">
          All prices, with a calculator
        </ButtonLink>
      </p>
    </Part>
  );
}

function Closing() {
  return (
    <section class="mx-auto max-w-[76rem] px-4 pt-24 pb-14 sm:px-8 sm:pt-36">
      <h2 class="max-w-[18ch] text-title sm:text-[3.5rem]">All you need is an e-mail address.</h2>
      <p class="mt-5 max-w-[52ch] text-lg text-dim">
        No password. Sign in with a code sent by e-mail. You get an account, and as many API keys as
        you need.
      </p>
      <p class="mt-8">
        <ButtonLink href="/sign-in" look="primary">
          Sign in
        </ButtonLink>
      </p>
    </section>
  );
}

function samplesOf(url: string): Record<string, string> {
  return {
    curl: `curl ${url}/video/generations \\
  -H "Authorization: Bearer $FRAMEWRIGHT_API_KEY" \\
  -H "Content-Type: application/json" \\
  -H "Idempotency-Key: ${FIRST_IDEMPOTENCY_KEY}" \\
  -d '${JSON.stringify(FIRST_REQUEST, null, 2).replaceAll('\n', '\n  ')}'`,
    TypeScript: typeScriptSample(url, FIRST_REQUEST, FIRST_IDEMPOTENCY_KEY),
    Python: pythonSample(url, { ...FIRST_REQUEST, idempotency_key: FIRST_IDEMPOTENCY_KEY }),
    fw: fwSample(url, FIRST_REQUEST),
  };
}

function OneRequest({ apiUrl = `${location.origin}/api/v1` }: { apiUrl?: string | undefined }) {
  return (
    <Part
      mark="00:02"
      title="One request. Safe to send again."
      text="After a lost connection, a restart or a timeout, send the same request with the same Idempotency-Key. The video is not made or charged a second time."
    >
      <CodeTabs label="Create a video" samples={samplesOf(apiUrl)} />
    </Part>
  );
}

const LOOKS = {
  reserved: 'border-edge bg-sheet text-ink',
  captured: 'border-tungsten bg-tungsten text-on-tungsten',
  refunded: 'border-dashed border-good text-good',
  held: 'border-edge bg-well text-ink',
};

/** `span`: how many of the track's twelve columns. */
const TRACKS = [
  {
    title: 'The video is stored',
    text: 'Only then are the credits charged.',
    clips: [
      { words: '250 reserved', span: 'col-span-9', look: LOOKS.reserved },
      { words: '250 charged', span: 'col-span-3', look: LOOKS.captured },
    ],
  },
  {
    title: 'It fails, at any point',
    text: 'All credits are refunded, automatically.',
    clips: [
      { words: '250 reserved', span: 'col-span-6', look: LOOKS.reserved },
      { words: '250 refunded', span: 'col-span-3', look: LOOKS.refunded },
    ],
  },
  {
    title: 'The connection to the provider breaks',
    text: 'The credits stay reserved until it is known what happened. Nothing is generated or charged twice.',
    clips: [
      { words: '250 reserved', span: 'col-span-4', look: LOOKS.reserved },
      { words: 'being checked', span: 'col-span-4', look: LOOKS.held },
      { words: 'charged or refunded', span: 'col-span-4', look: LOOKS.refunded },
    ],
  },
];

const MOMENTS = ['accepted', 'media copied', 'generating', 'stored'];

function Tracks() {
  return (
    <Part
      mark="00:01"
      title="You always see where your credits are."
      text="An accepted request reserves its credits. Your statement lists each reserve, charge and refund."
    >
      <div class="hidden grid-cols-4 text-sm text-dim sm:grid" aria-hidden="true">
        {MOMENTS.map((moment) => (
          <span key={moment}>{moment}</span>
        ))}
      </div>
      <div class="ruler mt-1.5 hidden sm:block" aria-hidden="true" />
      <ul class="grid gap-7 sm:pt-5">
        {TRACKS.map(({ title, text, clips }) => (
          <li key={title}>
            <div class="grid grid-cols-12 gap-[3px]">
              {clips.map(({ words, span, look }) => (
                <span
                  key={words}
                  class={`figures flex h-11 items-center border px-2 text-xs sm:px-3 sm:text-sm ${span} ${look}`}
                >
                  {words}
                </span>
              ))}
            </div>
            <p class="mt-2">
              <span class="font-medium">{title}.</span> <span class="text-dim">{text}</span>
            </p>
          </li>
        ))}
      </ul>
    </Part>
  );
}

interface PartProps {
  mark: string;
  title: string;
  text: string;
  children: ComponentChildren;
}

/** A section of the landing page: words on the left, the subject on the right. */
function Part({ mark, title, text, children }: PartProps) {
  return (
    <section class="mx-auto max-w-[76rem] px-4 pt-24 sm:px-8 sm:pt-36">
      <div class="grid gap-x-16 gap-y-9 lg:grid-cols-[minmax(0,5fr)_minmax(0,8fr)]">
        <div>
          <p class="edge-print mb-3" aria-hidden="true">
            {mark}
          </p>
          <h2 class="text-title">{title}</h2>
          <p class="mt-4 max-w-[44ch] text-dim">{text}</p>
        </div>
        <div class="min-w-0">{children}</div>
      </div>
    </section>
  );
}
