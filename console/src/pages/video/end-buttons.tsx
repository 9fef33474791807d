import { useState } from 'preact/hooks';
import type { ShownTask } from '../../../../server/src/site/tasks/shown-task.ts';
import { api } from '../../api.ts';
import { Button } from '../../ui/button.tsx';
import { Confirm, type ConfirmProps } from '../../ui/form/form-dialog.tsx';
import type { IconName } from '../../ui/icon.tsx';
import { toast } from '../../ui/toast.tsx';

interface Props {
  task: ShownTask;
  /** Reads the task again. */
  onChange: () => Promise<void>;
}

/** Cancels a video that is being made, or deletes one that is there. */
export function EndButtons(props: Props) {
  const { status, held, video_url: url } = props.task;
  if (status === 'processing' && held === null) return <CancelButton {...props} />;
  return url === null ? null : <DeleteButton {...props} />;
}

const SAID = {
  cancelled: 'The video is cancelled. Its credits are refunded.',
  pending: 'The video is being cancelled. This page shows how it ends.',
  video_is_finished: 'Too late to cancel: the video is finished.',
  provider_cannot: 'This video can’t be cancelled any more. It goes on.',
};

function CancelButton({ task: { id }, onChange }: Props) {
  const cancel = async () => {
    const { cancel: outcome, refusal } = await api('POST /console/api/tasks/:id/cancel', {
      params: { id },
    });
    toast(SAID[outcome === 'refused' ? (refusal ?? 'provider_cannot') : outcome]);
    await onChange();
  };
  return (
    <AskedButton
      word="Cancel"
      title="Cancel this video?"
      action="Cancel the video"
      dismiss="Keep it"
      onConfirm={cancel}
    >
      If it can still be stopped, no video is made and its credits are refunded. If not, it goes on
      and is charged as usual.
    </AskedButton>
  );
}

function DeleteButton({ task: { id }, onChange }: Props) {
  const remove = async () => {
    await api('DELETE /console/api/tasks/:id/output', { params: { id } });
    toast('The video is deleted.');
    await onChange();
  };
  return (
    <AskedButton
      word="Delete"
      icon="trash"
      title="Delete this video?"
      action="Delete the video"
      onConfirm={remove}
    >
      Its file is deleted for good, and its links stop working. The credits stay charged.
    </AskedButton>
  );
}

type AskedProps = Omit<ConfirmProps, 'onClose'> & { word: string; icon?: IconName };

/** A button that asks before it acts. */
function AskedButton({ word, icon, ...question }: AskedProps) {
  const [isOpen, setOpen] = useState(false);
  return (
    <>
      <Button icon={icon} onClick={() => setOpen(true)}>
        {word}
      </Button>
      {isOpen && <Confirm {...question} onClose={() => setOpen(false)} />}
    </>
  );
}
