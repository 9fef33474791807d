import { useState } from 'preact/hooks';
import { useLocation } from 'preact-iso';
import { api, besideField } from '../../api.ts';
import { useDraft } from '../../draft.ts';
import { useLoad } from '../../load.ts';
import type { Body } from '../../site-api.ts';
import { Button } from '../../ui/button.tsx';
import { Card } from '../../ui/card.tsx';
import { CopyButton } from '../../ui/code.tsx';
import { Select, TextArea } from '../../ui/form/controls.tsx';
import { DigestField } from '../../ui/form/digest-field.tsx';
import { binding, Field, Problem } from '../../ui/form/field.tsx';
import { submitting, useSending } from '../../ui/form/sending.tsx';
import { Page } from '../../ui/page.tsx';

type Report = Body<'POST /console/api/reports'>;

const REASONS: Record<Report['reason'] | '', string> = {
  '': 'Choose one',
  intimate_images: 'Intimate images without consent',
  sexualized_minors: 'Sexual content with minors',
  impersonation: 'A real person without consent',
  copyright: 'Copyright',
  other: 'Something else',
};

const EMPTY = { reason: '', email: '', evidence: '' };

/** Reports a video, without an account. */
export default function ReportPage() {
  const [receipt, setReceipt] = useState<string>();
  return (
    <Page
      title="Report a video"
      lead="Tell us about a video from this service that must not be shown. You need no account."
    >
      {receipt === undefined ? (
        <Form onSent={setReceipt} />
      ) : (
        <Sent receipt={receipt} onMore={() => setReceipt(undefined)} />
      )}
    </Page>
  );
}

function Form({ onSent }: { onSent: (receipt: string) => void }) {
  const { video = '' } = useLocation().query;
  const draft = useDraft(`report ${video}`, () => ({ ...EMPTY, video }));
  const field = binding(draft.value, draft.set);
  const { isBusy, failure, send } = useSending(async () => {
    const { reason, video, email, ...rest } = draft.value;
    const body = { ...rest, video: video.trim(), email: email.trim() };
    const { receipt } = await api('POST /console/api/reports', {
      body: { ...body, reason: reason as Report['reason'] },
    });
    draft.drop();
    onSent(receipt);
    scrollTo(0, 0); // or the header would hide the receipt's title
  });
  const errorOf = (name: string) =>
    failure?.details.field === name ? besideField(failure) : undefined;
  return (
    <Card>
      <form class="grid max-w-[42rem] gap-6" onSubmit={submitting(send)}>
        <Field
          label="Video"
          hint="A link to it, even an expired one, the id of its task, or the SHA-256 of its file."
          required
          maxLength={2048}
          autoComplete="off"
          error={errorOf('video')}
          {...field('video')}
        />
        <DigestField
          label="Or its file"
          hint="Your browser computes its SHA-256. The file itself is not sent."
          onDigest={(video) => draft.set({ video })}
        />
        <Select label="Reason" required choices={REASONS} {...field('reason')} />
        <TextArea
          label="What we should know"
          name="evidence"
          rows={6}
          maxLength={4000}
          placeholder="Who is shown, or which work is yours and where it was published"
          error={errorOf('evidence')}
          {...field('evidence')}
        />
        <Field
          label="E-mail address"
          hint="Optional: you get a receipt and the decision. The video’s owner does not see it."
          type="email"
          maxLength={254}
          autoComplete="email"
          error={errorOf('email')}
          {...field('email')}
        />
        <div class="grid gap-3">
          <div>
            <Button type="submit" look="primary" busy={isBusy}>
              {isBusy ? 'Sending' : 'Send the report'}
            </Button>
          </div>
          {failure && errorOf(String(failure.details.field)) === undefined && (
            <Problem>{failure.message}</Problem>
          )}
          <Kept />
        </div>
      </form>
    </Card>
  );
}

function Kept() {
  const days = useLoad('/console/api/site').data?.report_days;
  if (days === undefined) return null;
  return <p class="text-sm text-dim">What you enter is deleted after {days} days.</p>;
}

function Sent({ receipt, onMore }: { receipt: string; onMore: () => void }) {
  return (
    <Card title="We received your report">
      <div role="status" class="grid gap-5">
        <p class="max-w-[60ch]">
          We look at every report, even if we can’t tell you whether the video is ours. Keep the
          number of yours:
        </p>
        <p class="flex flex-wrap items-center gap-3">
          <span class="figures break-all">{receipt}</span>
          <CopyButton text={receipt} label="Copy the number" />
        </p>
        <div>
          <Button onClick={onMore}>Report another video</Button>
        </div>
      </div>
    </Card>
  );
}
