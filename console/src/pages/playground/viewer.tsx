import { useMemo, useState } from 'preact/hooks';
import type { ShownTask } from '../../../../server/src/site/tasks/shown-task.ts';
import type { ApiFailure } from '../../api.ts';
import { useEvery } from '../../load.ts';
import { downloadOf, shownState } from '../../task.ts';
import { Badge, Status, TestMark } from '../../ui/badge.tsx';
import { Button, ButtonLink } from '../../ui/button.tsx';
import { Credits } from '../../ui/format.tsx';
import { Player } from '../../ui/player.tsx';
import { ShareButton } from '../../ui/video-actions.tsx';
import { type Uses, UseThis } from './own-video.tsx';

interface ViewerProps extends Uses {
  task: ShownTask;
  /** Why the newest state could not be read. */
  error: ApiFailure | undefined;
  /** Undefined if there is no other video. */
  onCompare: (() => void) | undefined;
}

/** One video; its progress until there is one, or why there is none. */
export function Viewer({ task, error, onCompare, ...uses }: ViewerProps) {
  const isRunning = task.status === 'processing';
  const id = `result-${task.id}`;
  return (
    <article aria-labelledby={id} class="grid grid-cols-[minmax(0,1fr)] gap-5">
      <Heading id={id} task={task} />
      <p role="status" class="sr-only">
        {task.label}
      </p>
      <Outcome task={task} />
      {error && isRunning && (
        <p class="text-sm text-dim">
          {error.message} The video is still being made, and this page continues when it can read
          the state again.
        </p>
      )}
      <p class="line-clamp-2 text-dim">{task.prompt}</p>
      <div class="flex flex-wrap items-center gap-2.5">
        {task.video_url && (
          <ButtonLink icon="download" href={downloadOf(task)} download>
            Download
          </ButtonLink>
        )}
        <ButtonLink icon="arrow" href={`/videos/${task.id}`}>
          Details of this video
        </ButtonLink>
        <ShareButton task={task} />
        {onCompare && <Button onClick={onCompare}>Compare</Button>}
        <span class="text-sm text-dim">
          <Credits value={task.credits_used} /> {task.surface === 'test' && 'test '}credits{' '}
          {task.charge}, seed <span class="figures">{task.seed}</span>
        </span>
      </div>
      <UseThis task={task} {...uses} />
    </article>
  );
}

function Heading({ id, task }: { id: string; task: ShownTask }) {
  const isRunning = task.status === 'processing';
  return (
    <div class="flex flex-wrap items-center justify-between gap-x-6 gap-y-2">
      <h2 id={id} class="text-heading">
        Your video
      </h2>
      <div class="flex items-center gap-3">
        {task.surface === 'test' && <TestMark />}
        {isRunning ? <Badge tone="busy">{task.label}</Badge> : <Status state={shownState(task)} />}
        <Elapsed task={task} />
      </div>
    </div>
  );
}

export function Outcome({ task }: { task: ShownTask }) {
  if (task.video_url) {
    const { id, video_url: src, poster_url: poster, width, height, prompt } = task;
    const size = { width: width ?? undefined, height: height ?? undefined };
    return (
      <Player key={id} id={id} src={src} poster={poster} label={prompt || 'Video'} {...size} />
    );
  }
  if (task.failure) {
    return (
      <div role="alert" class="border border-line border-l-4 border-l-bad bg-sheet px-5 py-4">
        <p class="font-medium">{task.failure.message}</p>
        <p class="mt-1.5 text-dim">{task.failure.advice}</p>
      </div>
    );
  }
  if (task.held !== null) {
    return (
      <p class="border border-line border-l-4 border-l-tungsten bg-sheet px-5 py-4 text-dim">
        {task.held}
      </p>
    );
  }
  if (task.status === 'processing') return <Track task={task} />;
  return <p class="border border-line bg-sheet px-5 py-4 text-dim">The video was deleted.</p>;
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

function Track({ task }: { task: ShownTask }) {
  const hasMedia = task.mode !== 'text-to-video';
  const isShown = (step: string) =>
    step === 'ingesting' ? hasMedia : step !== 'review' || task.phase === 'review';
  const steps = STEPS.filter(isShown);
  const at = steps.indexOf(task.phase);
  return (
    <div class="cropped grid aspect-video max-h-[72vh] bg-well">
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
function Elapsed({ task }: { task: ShownTask }) {
  const isRunning = task.status === 'processing';
  const readAt = useMemo(() => performance.now(), [task.now]);
  const [, tick] = useState(0);
  useEvery(isRunning ? 1000 : undefined, () => tick((count) => count + 1));
  const until = isRunning ? task.now : task.updated_at;
  const since = isRunning ? performance.now() - readAt : 0;
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
