import { useMemo } from 'preact/hooks';
import { useMode } from '../../session.tsx';
import { Link } from '../../ui/button.tsx';
import { CodeTabs, CopyButton } from '../../ui/code.tsx';
import { bodyOf, type Form, type Rules } from './form-model.ts';
import { linkTo } from './given-request.ts';
import { publicBody, samplesOf } from './samples.ts';

/** The form's request as code, and as a link that fills the form in. */
export function ApiRequest({ form, rules }: { form: Form; rules: Rules }) {
  const { samples, link } = useMemo(() => {
    const { origin } = location;
    const body = bodyOf(form, rules);
    return { samples: samplesOf(origin, publicBody(body, origin)), link: linkTo(body, origin) };
  }, [form, rules]);
  return (
    <section aria-labelledby="request" class="grid grid-cols-[minmax(0,1fr)] gap-3">
      <div class="flex flex-wrap items-center justify-between gap-x-6 gap-y-2">
        <h2 id="request" class="text-heading">
          The same request to the API
        </h2>
        <CopyButton
          text={link}
          words="Copy as a link"
          label="Copy a link that fills this form in"
        />
      </div>
      <p class="max-w-[60ch] text-dim">
        {useMode() === 'test' ? (
          <>
            Send it with a <Link href="/keys">test key</Link>.
          </>
        ) : (
          <>
            Send it with an <Link href="/keys">API key</Link>. The API spends paid credits only.
          </>
        )}
      </p>
      <CodeTabs label="Create this video" samples={samples} />
    </section>
  );
}
