import { useState } from 'preact/hooks';
import type { ShownTask } from '../../../../server/src/site/tasks/shown-task.ts';
import { type ApiFailure, besideField } from '../../api.ts';
import { useEvery } from '../../load.ts';
import { Badge, Status, TestMark } from '../../ui/badge.tsx';
import { Button, ButtonLink, IconButton, Link } from '../../ui/button.tsx';
import { useSending } from '../../ui/form/sending.tsx';
import { Credits } from '../../ui/format.tsx';
import { Player } from '../../ui/player.tsx';
import { ErrorState } from '../../ui/states.tsx';
import { type Generation, type Run, useFollow, type useRuns } from './runs.ts';

type Size = readonly [number, number] | undefined;

interface ResultProps extends Omit<ReturnType<typeof useRuns>, 'runs' | 'generate'> {
  run: Run;
  sizeOf: (task: ShownTask) => Size;
}

export function Result(props: ResultProps) {
  const { submission, isResent } = props.run;
  useFollow(props.run, (next) => props.update(submission.key, next));
  if (!isResent) return <State {...props} />;
  return (
    <div class="grid grid-cols-[minmax(0,1fr)] gap-5">
      <p role="status" class="border-l-4 border-l-tungsten pl-4 text-sm text-dim">
        The page was reloaded before a response came, so it has sent the same request again: nothing
        is made or charged twice.
      </p>
      <State {...props} />
    </div>
  );
}

function State(props: ResultProps) {
  const { run, sizeOf, dismiss } = props;
  const { generation } = run;
  const onDismiss = () => dismiss(run);
  switch (generation.kind) {
    case 'gone':
    case 'reading':
    case 'interrupted':
    case 'sending':
      return null;
    case 'lost':
      return <Lost {...props} error={generation.error} />;
    case 'refused':
      return <Refused error={generation.error} onDismiss={onDismiss} />;
    case 'task':
      return <Following {...generation} sizeOf={sizeOf} onDismiss={onDismiss} />;
  }
}

/** Asks what to do with a request that got no response. Only a reload resends it by itself. */
function Lost({ run, error, retry, discard }: ResultProps & { error: ApiFailure }) {
  const { isBusy, send } = useSending(() => discard(run));
  return (
    <ErrorState
      title="This request may not have arrived"
      error={error}
      actions={
        <>
          <Button look="primary" disabled={isBusy} onClick={() => void retry(run)}>
            Send
          </Button>
          <Button busy={isBusy} onClick={() => void send()}>
            Discard
          </Button>
        </>
      }
    >
      <p class="mt-2 line-clamp-2 text-sm break-words">
        {String(run.submission.body.prompt ?? '')}
      </p>
      <p class="mt-2 text-dim">
        Send it: the same request is sent again, for one video and one charge. Discard it: nothing
        is sent. If it did arrive, its video is under <Link href="/videos">Videos</Link>.
      </p>
    </ErrorState>
  );
}

function withNote(error: ApiFailure, note: string): ApiFailure {
  return Object.assign(Object.create(error), { message: `${besideField(error)} ${note}` });
}

function Refused({ error, onDismiss }: { error: ApiFailure; onDismiss: () => void }) {
  const lacksCredits = error.code === 'insufficient_credits';
  return (
    <ErrorState
      title="Nothing was made"
      error={withNote(error, 'You were not charged.')}
      actions={
        <>
          {lacksCredits && (
            <ButtonLink look="primary" icon="coins" href="/credits">
              Add credits
            </ButtonLink>
          )}
          <Button onClick={onDismiss}>Close</Button>
        </>
      }
    />
  );
}

const STEPS = [
  'reserved',
  'ingesting',
  'review',
  'submitting',
  'generating',
  'archiving',
  'completed',
];
const STEP_WORDS: Record<string, string> = {
  reserved: 'Queued',
  ingesting: 'Copying',
  review: 'In review',
  submitting: 'Submitting',
  generating: 'Generating',
  archiving: 'Saving',
  completed: 'Done',
};

type FollowingProps = Extract<Generation, { kind: 'task' }> & {
  sizeOf: ResultProps['sizeOf'];
  onDismiss: () => void;
};

function Following(props: FollowingProps) {
  const { task, error } = props;
  const size = props.sizeOf(task);
  const isLive = task.status === 'processing';
  const id = `result-${task.id}`;
  return (
    <article aria-labelledby={id} class="grid grid-cols-[minmax(0,1fr)] gap-5">
      <Heading {...props} id={id} />
      <p role="status" class="sr-only">
        {task.label}
      </p>
      <p class="-mt-3 line-clamp-2 text-sm text-dim">{task.prompt}</p>
      {isLive && task.held === null && <Track task={task} size={size} />}
      {error && isLive && (
        <p class="text-sm text-dim">
          {error.message} The video is still being made, and this page continues when it can read
          the state again.
        </p>
      )}
      <Outcome task={task} size={size} />
      <div class="flex flex-wrap items-center gap-2.5">
        {task.video_url && (
          <ButtonLink icon="download" href={task.video_url} download={`${task.id}.mp4`}>
            Download
          </ButtonLink>
        )}
        <ButtonLink icon="arrow" href={`/videos/${task.id}`}>
          Details of this video
        </ButtonLink>
        <span class="text-sm text-dim">
          <Credits value={task.credits_used} /> {task.surface === 'test' && 'test '}credits{' '}
          {task.charge}
        </span>
      </div>
    </article>
  );
}

function Heading({ id, task, readAt, onDismiss }: FollowingProps & { id: string }) {
  const isLive = task.status === 'processing';
  return (
    <div class="flex flex-wrap items-center justify-between gap-x-6 gap-y-2">
      <h2 id={id} class="text-heading">
        Your video
      </h2>
      <div class="flex items-center gap-3">
        {task.surface === 'test' && <TestMark />}
        {isLive ? <Badge tone="busy">{task.label}</Badge> : <Status state={task.status} />}
        <Elapsed task={task} readAt={readAt} />
        {!isLive && <IconButton icon="cross" label="Close the result" onClick={onDismiss} />}
      </div>
    </div>
  );
}

function Outcome({ task, size }: { task: ShownTask; size: Size }) {
  return (
    <>
      {task.held !== null && (
        <p class="border border-line border-l-4 border-l-tungsten bg-sheet px-5 py-4 text-dim">
          {task.held}
        </p>
      )}
      {task.video_url && (
        <Player
          id={task.id}
          src={task.video_url}
          width={size?.[0]}
          height={size?.[1]}
          label={task.prompt || 'Video'}
        />
      )}
      {task.video?.state === 'deleted' && (
        <p class="border border-line bg-sheet px-5 py-4 text-dim">The video was deleted.</p>
      )}
      {task.failure && (
        <div role="alert" class="border border-line border-l-4 border-l-bad bg-sheet px-5 py-4">
          <p class="font-medium">{task.failure.message}</p>
          <p class="mt-1.5 text-dim">{task.failure.advice}</p>
        </div>
      )}
    </>
  );
}

function Track({ task, size }: { task: ShownTask; size: Size }) {
  const hasMedia = task.mode !== 'text-to-video';
  const isShown = (step: string) =>
    step === 'ingesting' ? hasMedia : step !== 'review' || task.phase === 'review';
  const steps = STEPS.filter(isShown);
  const at = steps.indexOf(task.phase);
  return (
    <div
      class="cropped grid bg-well"
      style={{ aspectRatio: size ? `${size[0]} / ${size[1]}` : '16 / 9', maxHeight: '72vh' }}
    >
      <ol class="flex flex-wrap content-center items-center justify-center gap-x-5 gap-y-2 p-5">
        {steps.map((step, i) => (
          <li
            key={step}
            aria-current={i === at ? 'step' : undefined}
            class={`flex items-center gap-2 text-sm ${i === at ? 'font-medium text-ink' : 'text-dim'}`}
          >
            <span
              aria-hidden="true"
              class={`h-3.5 w-[5px] ${i < at ? 'bg-edge' : i === at ? 'animate-breathe bg-tungsten' : 'bg-line'}`}
            />
            {STEP_WORDS[step]}
          </li>
        ))}
      </ol>
    </div>
  );
}

/** The time since the task was created, by the service's clock. */
function Elapsed({ task, readAt }: { task: ShownTask; readAt: number }) {
  const isLive = task.status === 'processing';
  const [, tick] = useState(0);
  useEvery(isLive ? 1000 : undefined, () => tick((count) => count + 1));
  const until = isLive ? task.now : task.updated_at;
  const since = isLive ? performance.now() - readAt : 0;
  const seconds = Math.floor((Date.parse(until) - Date.parse(task.created_at) + since) / 1000);
  return <span class="figures text-sm text-dim">{clockText(Math.max(0, seconds))}</span>;
}

/** Seconds as `4:05`, or as `1:04:05`. */
function clockText(seconds: number): string {
  const twoDigits = (value: number) => String(value).padStart(2, '0');
  const [hours, minutes] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60];
  const before = hours > 0 ? `${hours}:${twoDigits(minutes)}` : minutes;
  return `${before}:${twoDigits(seconds % 60)}`;
}
