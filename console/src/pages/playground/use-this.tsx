import type { ShownTask } from '../../../../server/src/site/tasks/shown-task.ts';
import { Button } from '../../ui/button.tsx';
import { useSending } from '../../ui/form/sending.tsx';
import { toast } from '../../ui/toast.tsx';
import type { MediaField } from './form-model.ts';
import { fileOf, lastFrameOf } from './own-video.ts';

/** What the form takes over from an earlier video. */
export interface Uses {
  onRequest: (task: ShownTask) => void;
  onSeed: (seed: number) => void;
  onFile: (file: File, field: MediaField) => void;
}

const UNREADABLE = 'This page can’t read the file. Download the video and upload it here.';

export function UseThis({ task, onRequest, onSeed, onFile }: Uses & { task: ShownTask }) {
  const hasFile = task.video_url !== null;
  const { isBusy, send } = useSending((read: Promise<File>, field: MediaField) =>
    read.then(
      (file) => onFile(file, field),
      () => toast(UNREADABLE, 'bad'),
    ),
  );
  return (
    <div role="group" aria-label="Use this video" class="flex flex-wrap gap-2">
      <Button small onClick={() => onRequest(task)}>
        Use its request
      </Button>
      <Button small onClick={() => onSeed(task.seed)}>
        Use its seed
      </Button>
      {hasFile && (
        <>
          <Button small busy={isBusy} onClick={() => void send(lastFrameOf(task), 'image_url')}>
            Continue from its last frame
          </Button>
          <Button
            small
            busy={isBusy}
            onClick={() => void send(fileOf(task), 'reference_video_urls')}
          >
            Use as a reference
          </Button>
        </>
      )}
    </div>
  );
}
