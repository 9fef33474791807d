import type { ComponentChildren } from 'preact';
import type { ApiFailure } from '../api.ts';
import type { Loaded } from '../load.ts';
import { Button } from './button.tsx';
import { CopyButton } from './code.tsx';

interface EmptyProps {
  title: string;
  children?: ComponentChildren;
  action?: ComponentChildren;
}

export function Empty({ title, children, action }: EmptyProps) {
  return (
    <div class="border border-dashed border-edge px-6 py-14 sm:px-12">
      <p class="text-heading">{title}</p>
      {children && <div class="mt-2 max-w-[52ch] text-dim">{children}</div>}
      {action && <div class="mt-6 flex flex-wrap gap-2.5">{action}</div>}
    </div>
  );
}

interface ErrorStateProps {
  error: ApiFailure;
  retry?: (() => void) | undefined;
  title?: string;
  actions?: ComponentChildren;
  children?: ComponentChildren;
}

export function ErrorState({ error, retry, title, actions, children }: ErrorStateProps) {
  const heading = error.code === 'offline' ? 'No connection' : 'This could not be loaded';
  return (
    <div role="alert" class="border border-line border-l-4 border-l-bad bg-sheet px-6 py-7">
      <p class="text-heading">{title ?? heading}</p>
      <p class="mt-2 max-w-[60ch] text-dim">{error.message}</p>
      {children}
      <div class="mt-5 flex flex-wrap items-center gap-x-5 gap-y-3 empty:hidden">
        {actions}
        {retry && (
          <Button icon="refresh" onClick={retry}>
            Try again
          </Button>
        )}
        {error.requestId && (
          <span class="inline-flex min-w-0 items-center text-sm text-dim">
            Request&nbsp;<span class="figures break-all">{error.requestId}</span>
            <CopyButton text={error.requestId} label="Copy the request’s id" />
          </span>
        )}
      </div>
    </div>
  );
}

export function Skeleton({ lines = 3 }: { lines?: number }) {
  return (
    <div aria-hidden="true" class="grid gap-3">
      {Array.from({ length: lines }, (_, line) => (
        <div
          key={line}
          class={`blank h-[1.4em] ${line === lines - 1 && lines > 1 ? 'w-3/5' : 'w-full'}`}
        />
      ))}
    </div>
  );
}

/** Shows loaded data, a skeleton, or an error with a retry. Old data stays during a reload. */
export function Load<Data>({
  from,
  skeleton = <Skeleton />,
  children,
}: {
  from: Pick<Loaded<Data>, 'data' | 'error' | 'reload'>;
  skeleton?: ComponentChildren;
  children: (data: Data) => ComponentChildren;
}) {
  if (from.data !== undefined) return <>{children(from.data)}</>;
  if (from.error) return <ErrorState error={from.error} retry={() => void from.reload()} />;
  return (
    <div aria-busy="true">
      <p class="sr-only">Loading</p>
      {skeleton}
    </div>
  );
}
