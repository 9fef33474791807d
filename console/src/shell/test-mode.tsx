import { useState } from 'preact/hooks';
import { useLocation } from 'preact-iso';
import { api } from '../api.ts';
import { useSession } from '../session.tsx';
import type { Mode } from '../site-api.ts';
import { Button } from '../ui/button.tsx';
import { Switch } from '../ui/form/controls.tsx';
import { useSending } from '../ui/form/sending.tsx';
import { toastFailure, toastOutcome } from '../ui/toast.tsx';

/** Switches the mode; if the balance can't be loaded, says why and stays. */
function useSwitch(): (mode: Mode) => Promise<void> {
  const { switchTo } = useSession();
  return (mode) => switchTo(mode).catch(toastFailure);
}

export function ModeSwitch({ mode }: { mode: Mode }) {
  const [wanted, setWanted] = useState(mode);
  const switchTo = useSwitch();
  const change = async (isTest: boolean) => {
    setWanted(isTest ? 'test' : 'live');
    await switchTo(isTest ? 'test' : 'live');
    setWanted(mode); // after a failure; a success has remounted this by its key, the mode
  };
  return <Switch label="Test mode" checked={wanted === 'test'} onChange={change} />;
}

export function LeaveTestMode() {
  const switchTo = useSwitch();
  return (
    <Button small onClick={() => void switchTo('live')}>
      Leave test mode
    </Button>
  );
}

export function EnterTestMode() {
  const switchTo = useSwitch();
  return <Button onClick={() => void switchTo('test')}>Try it in test mode</Button>;
}

export function RefillButton() {
  const { refresh } = useSession();
  const { isBusy, send } = useSending(async () => {
    await toastOutcome(api('POST /console/api/test-credits'), 'The test credits are refilled.');
    await refresh();
  });
  return (
    <Button small busy={isBusy} onClick={() => void send()}>
      Refill test credits
    </Button>
  );
}

/** Pages that are the same in both modes, by path prefix. */
const ALWAYS_LIVE: [path: string, words: string][] = [
  ['/operator', 'the operator’s console is always live.'],
  ['/pricing', 'purchases are always live.'],
  ['/status', 'this is the status of live requests.'],
];

export function TestBar() {
  const { path } = useLocation();
  const live = ALWAYS_LIVE.find(([start]) => path.startsWith(start));
  return (
    <section aria-label="Test mode" class="border-b border-tungsten bg-well">
      <div class="mx-auto flex max-w-[76rem] flex-wrap items-center justify-between gap-x-6 gap-y-2 px-4 py-2 text-sm sm:px-8">
        <p class="flex items-center gap-2.5">
          <span aria-hidden="true" class="h-3 w-[5px] flex-none bg-tungsten" />
          <span>
            <strong>Test mode:</strong> {live ? live[1] : 'nothing here costs credits.'}
          </span>
        </p>
        <div class="flex gap-2">
          <RefillButton />
          <LeaveTestMode />
        </div>
      </div>
    </section>
  );
}
