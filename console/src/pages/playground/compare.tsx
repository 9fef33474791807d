import { useEffect, useRef } from 'preact/hooks';
import type { ShownTask } from '../../../../server/src/site/tasks/shown-task.ts';
import { useTask } from '../../task.ts';
import { Button } from '../../ui/button.tsx';
import { labelOf } from '../../ui/format.tsx';
import { type Column, column, prose, Table } from '../../ui/table.tsx';
import { Outcome } from './viewer.tsx';

interface CompareProps {
  left: ShownTask;
  /** The id of the other task. */
  right: string;
  onEnd: () => void;
}

/** Two videos side by side, and how their requests differ. */
export function Compare({ left, right: rightId, onEnd }: CompareProps) {
  const right = useTask(rightId).data;
  const page = useRef<HTMLElement>(null);
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => page.current?.scrollIntoView({ block: 'nearest' }), []);
  const tasks = right ? [left, right] : [left];
  return (
    <section
      ref={page}
      aria-labelledby="compared"
      class="grid scroll-mt-44 grid-cols-[minmax(0,1fr)] gap-5"
    >
      <div class="flex flex-wrap items-center justify-between gap-3">
        <h2 id="compared" class="text-heading">
          Two videos
        </h2>
        <div class="flex gap-2">
          <Button small icon="play" onClick={() => void playTogether(box.current)}>
            Play both
          </Button>
          <Button small icon="cross" onClick={onEnd}>
            End the comparison
          </Button>
        </div>
      </div>
      <div ref={box} class="grid grid-cols-[repeat(2,minmax(0,1fr))] items-start gap-4">
        {tasks.map((task, i) => (
          <Outcome key={`${i} ${task.id}`} task={task} />
        ))}
      </div>
      {right && <Differences left={left} right={right} />}
      <p class="text-sm text-dim">
        Choose the second video in the strip above. Only the first one plays with sound.
      </p>
    </section>
  );
}

/** Starts all videos at the same moment, from the beginning. */
async function playTogether(box: HTMLElement | null): Promise<void> {
  const players = [...(box?.querySelectorAll('video') ?? [])];
  await Promise.all(players.map(ready));
  for (const [i, player] of players.entries()) {
    player.muted = i > 0;
    player.currentTime = 0;
  }
  await Promise.allSettled(players.map((player) => player.play()));
}

function ready(player: HTMLVideoElement): Promise<unknown> {
  const { promise, resolve } = Promise.withResolvers<unknown>();
  if (player.readyState >= HTMLMediaElement.HAVE_FUTURE_DATA) resolve(undefined);
  else {
    for (const event of ['canplay', 'error']) {
      player.addEventListener(event, resolve, { once: true });
    }
    player.preload = 'auto';
    player.load();
  }
  return promise;
}

interface Difference {
  id: string;
  left: string;
  right: string;
}

const COLUMNS: Column<Difference>[] = [
  column('Field', ({ id }) => labelOf(id)),
  prose('First', ({ left }) => left),
  prose('Second', ({ right }) => right),
];

function Differences({ left, right }: { left: ShownTask; right: ShownTask }) {
  const [first, second] = [left, right].map(({ request, seed }) => ({ ...request, seed }));
  const fields = [...new Set(Object.keys({ ...first, ...second }))];
  const rows = fields
    .map((id) => ({ id, left: textOf(first, id), right: textOf(second, id) }))
    .filter((row) => row.left !== row.right);
  if (rows.length === 0) return <p class="text-dim">Their requests are the same.</p>;
  return <Table caption="How the requests differ" columns={COLUMNS} rows={rows} />;
}

function textOf(request: Record<string, unknown> = {}, field: string): string {
  const value = request[field];
  if (value === undefined) return '–';
  return typeof value === 'string' ? value : JSON.stringify(value);
}
