import { FIRST_KEY, FIRST_REQUEST } from '../../samples/first-request.ts';
import { fwSample } from '../../samples/fw.ts';
import { pythonSample } from '../../samples/python.ts';
import { typeScriptSample } from '../../samples/typescript.ts';
import { CodeTabs } from '../../ui/code.tsx';
import { Part } from './part.tsx';

function samples(url: string): Record<string, string> {
  return {
    curl: `curl ${url}/video/generations \\
  -H "Authorization: Bearer $FRAMEWRIGHT_API_KEY" \\
  -H "Content-Type: application/json" \\
  -H "Idempotency-Key: ${FIRST_KEY}" \\
  -d '${JSON.stringify(FIRST_REQUEST, null, 2).replaceAll('\n', '\n  ')}'`,
    TypeScript: typeScriptSample(url, FIRST_REQUEST, FIRST_KEY),
    Python: pythonSample(url, { ...FIRST_REQUEST, idempotency_key: FIRST_KEY }),
    fw: fwSample(url, FIRST_REQUEST),
  };
}

/** The request of the sample, in each language. */
export function OneRequest({
  apiUrl = `${location.origin}/api/v1`,
}: {
  apiUrl?: string | undefined;
}) {
  return (
    <Part
      mark="00:02"
      title="One request. Safe to send again."
      text="After a lost connection, a restart or a timeout, send the same request with the same Idempotency-Key. The video is not made or charged a second time."
    >
      <CodeTabs label="Create a video" samples={samples(apiUrl)} />
    </Part>
  );
}
