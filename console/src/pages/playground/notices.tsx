import { ApiFailure, besideField } from '../../api.ts';
import { Button, ButtonLink, Link } from '../../ui/button.tsx';
import { useSending } from '../../ui/form/sending.tsx';
import { ErrorState } from '../../ui/states.tsx';
import { lostBatches, refusedBatches, type useRuns, type WithError } from './runs.ts';

type Actions = Omit<ReturnType<typeof useRuns>, 'runs' | 'generate'>;

interface NoticeProps extends Actions {
  /** Sent together; not empty. */
  batch: WithError[];
  error: ApiFailure;
}

/** The requests that got no task. */
export function Notices({ runs, ...actions }: Omit<ReturnType<typeof useRuns>, 'generate'>) {
  const shown = (Notice: typeof Lost, batches: WithError[][]) =>
    batches.flatMap((batch) => {
      const [first] = batch;
      if (!first) return [];
      const { submission, error } = first;
      return <Notice key={submission.key} batch={batch} error={error} {...actions} />;
    });
  return (
    <>
      {shown(Refused, refusedBatches(runs))}
      {shown(Lost, lostBatches(runs))}
    </>
  );
}

/** Asks whether to resend requests that got no response. */
function Lost({ batch, error, retry, discard }: NoticeProps) {
  const { isBusy, send } = useSending(() => discard(batch));
  const isOne = batch.length === 1;
  return (
    <ErrorState
      title={`${isOne ? 'This request' : `These ${batch.length} requests`} may not have arrived`}
      error={error}
      actions={
        <>
          <Button look="primary" disabled={isBusy} onClick={() => void retry(batch)}>
            Send
          </Button>
          <Button busy={isBusy} onClick={() => void send()}>
            Discard
          </Button>
        </>
      }
    >
      <p class="mt-2 line-clamp-2 text-sm break-words">
        {String(batch[0]?.submission.body.prompt ?? '')}
      </p>
      <p class="mt-2 text-dim">
        Send it: the same request is sent again, for one video and one charge. Discard it: nothing
        is sent. If it did arrive, its video is under <Link href="/videos">Videos</Link>.
      </p>
    </ErrorState>
  );
}

function withNote(error: ApiFailure, note: string): ApiFailure {
  return new ApiFailure(`${besideField(error)} ${note}`, error);
}

function Refused({ batch, error, dismiss }: NoticeProps) {
  const { length } = batch;
  const lacksCredits = error.code === 'insufficient_credits';
  return (
    <ErrorState
      title={length === 1 ? 'A video was not made' : `${length} videos were not made`}
      error={withNote(error, 'You were not charged.')}
      actions={
        <>
          {lacksCredits && (
            <ButtonLink look="primary" icon="coins" href="/credits">
              Add credits
            </ButtonLink>
          )}
          <Button onClick={() => dismiss(batch)}>Close</Button>
        </>
      }
    />
  );
}
