import { useEffect } from 'preact/hooks';
import { useLocation } from 'preact-iso';
import type { About } from '../../../../server/src/site/about.ts';
import type { Loaded } from '../../load.ts';
import { useSession } from '../../session.tsx';
import { useSiteInfo } from '../../site-info.ts';
import { ButtonLink } from '../../ui/button.tsx';
import { useTitle } from '../../ui/page.tsx';
import { RateTable } from '../pricing/rate-table.tsx';
import { OneRequest } from './one-request.tsx';
import { Part } from './part.tsx';
import { Screening } from './screening.tsx';
import { Tracks } from './tracks.tsx';

/** The first page for visitors. A signed-in person is sent to the playground. */
export default function LandingPage() {
  const { state } = useSession();
  const { route } = useLocation();
  const site = useSiteInfo();
  useTitle('Framewright');
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
      <h1 tabIndex={-1} class="max-w-[13ch] text-display">
        Pay for the video, not for the attempt.
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
