import { useRoute } from 'preact-iso';
import type { ShownTask } from '../../../../server/src/site/tasks/shown-task.ts';
import { api } from '../../api.ts';
import { isMissing } from '../../load.ts';
import { downloadOf, nameOf, useTask } from '../../task.ts';
import { Button, ButtonLink } from '../../ui/button.tsx';
import { confirm } from '../../ui/form/form-dialog.tsx';
import { Page } from '../../ui/page.tsx';
import { Load } from '../../ui/states.tsx';
import { toast } from '../../ui/toast.tsx';
import {
  askToDelete,
  editAnnotations,
  ShareButton,
  StarButton,
  Tags,
} from '../../ui/video-actions.tsx';
import { NotFound } from '../not-found/not-found.tsx';
import { VideoDetails } from './details.tsx';
import { Stage } from './stage.tsx';

export default function VideoPage() {
  const { id = '' } = useRoute().params;
  const loaded = useTask(id);
  const { data } = loaded;
  if (isMissing(loaded)) {
    return (
      <NotFound
        title="Video not found"
        lead="This account has no video with this id."
        href="/videos"
        action="All videos"
      />
    );
  }
  return (
    <Page
      title={data ? titleOf(data) : 'Video'}
      isTitleComing={!data && !loaded.error}
      actions={
        <>
          {data && (
            <>
              <StarButton item={data} onChange={loaded.reload} />
              <Button onClick={() => editAnnotations([data], loaded.reload)}>Name and tags</Button>
              <ShareButton task={data} />
              <EndButtons task={data} onChange={loaded.reload} />
            </>
          )}
          {data && data.video_url !== null && (
            <ButtonLink icon="download" href={downloadOf(data)} download>
              Download
            </ButtonLink>
          )}
          <ButtonLink
            look="primary"
            icon="refresh"
            href={`/playground?from=${encodeURIComponent(id)}`}
          >
            Run again
          </ButtonLink>
        </>
      }
    >
      <Load from={loaded} skeleton={BLANK}>
        {(task) => (
          <>
            <Tags tags={task.tags} />
            <Stage task={task} />
            <VideoDetails task={task} />
          </>
        )}
      </Load>
    </Page>
  );
}

const TITLE_CHARACTERS = 70;

function titleOf(task: ShownTask): string {
  const name = nameOf(task);
  if (name.length <= TITLE_CHARACTERS) return name;
  const cut = name.slice(0, TITLE_CHARACTERS);
  return `${cut.slice(0, Math.max(cut.lastIndexOf(' '), TITLE_CHARACTERS / 2))}…`;
}

const BLANK = (
  <div class="grid gap-6">
    <div class="blank aspect-video max-h-[72vh] w-full" />
    <div class="blank h-40 w-full" />
  </div>
);

interface Props {
  task: ShownTask;
  onChange: () => Promise<void>;
}

function EndButtons(props: Props) {
  const { status, held, video_url: url } = props.task;
  if (status === 'processing' && held === null)
    return <Button onClick={() => askToCancel(props)}>Cancel</Button>;
  if (url === null) return null;
  return (
    <Button icon="trash" onClick={() => askToDelete([props.task], props.onChange)}>
      Delete
    </Button>
  );
}

const SAID = {
  cancelled: 'The video is cancelled. Its credits are refunded.',
  pending: 'The video is being cancelled. This page shows how it ends.',
  video_is_finished: 'Too late to cancel: the video is finished.',
  provider_cannot: 'This video can’t be cancelled any more. It goes on.',
};

function askToCancel({ task: { id }, onChange }: Props): void {
  confirm({
    title: 'Cancel this video?',
    action: 'Cancel the video',
    dismiss: 'Keep it',
    text: 'If it can still be stopped, no video is made and its credits are refunded. If not, it goes on and is charged as usual.',
    async request() {
      const named = { params: { id } };
      const { cancel, refusal } = await api('POST /console/api/tasks/:id/cancel', named);
      toast(SAID[cancel === 'refused' ? (refusal ?? 'provider_cannot') : cancel]);
      await onChange();
    },
  });
}
