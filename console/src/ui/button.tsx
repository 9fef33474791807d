import type { ComponentChildren, JSX } from 'preact';
import { Icon, type IconName } from './icon.tsx';

const LOOKS = {
  primary:
    'bg-tungsten text-on-tungsten hover:bg-tungsten-lit border-transparent aria-disabled:bg-line aria-disabled:text-dim',
  plain:
    'bg-sheet text-ink border-edge hover:border-ink aria-disabled:text-dim aria-disabled:border-line',
  quiet:
    'bg-transparent text-ink border-transparent hover:bg-well aria-disabled:bg-transparent aria-disabled:text-dim',
  danger:
    'bg-bad-fill text-on-bad border-transparent hover:brightness-110 aria-disabled:bg-line aria-disabled:text-dim aria-disabled:brightness-100',
} as const;

type Look = keyof typeof LOOKS;

interface Shared {
  look?: Look;
  icon?: IconName | undefined;
  /** Small: 32 px high instead of 42. */
  small?: boolean;
  children?: ComponentChildren;
}

type ButtonProps = Shared &
  Omit<JSX.IntrinsicElements['button'], 'icon' | 'class' | 'children'> & {
    /** Ignores clicks and shows an animation. */
    busy?: boolean;
  };

const BASE =
  'inline-flex items-center justify-center gap-2 rounded-cut border font-medium whitespace-nowrap select-none transition-colors duration-150 no-underline';

function classes({ look = 'plain', small = false }: Shared): string {
  const size = small ? 'h-8 px-2.5 text-sm' : 'h-[2.625rem] px-4 text-base';
  return `${BASE} ${size} ${LOOKS[look]}`;
}

/** Stays focusable while disabled, unlike a button with HTML's `disabled`. */
export function Button(props: ButtonProps) {
  const { look, icon, small, busy = false, children, disabled, ...rest } = props;
  const isOff = Boolean(disabled) || busy;
  return (
    <button
      type="button"
      {...rest}
      {...(isOff && {
        'aria-disabled': true,
        onClick: (event: Event) => event.preventDefault(), // so it submits no form
      })}
      aria-busy={busy}
      class={classes({ look: look ?? 'plain', small: small ?? false })}
    >
      {busy ? <Working /> : icon && <Icon name={icon} size={small ? 15 : 17} />}
      {children}
    </button>
  );
}

export function ButtonLink({
  look = 'plain',
  icon,
  small = false,
  children,
  ...rest
}: Shared &
  Omit<JSX.IntrinsicElements['a'], 'icon' | 'class' | 'children' | 'role'> & { href: string }) {
  return (
    <a {...rest} class={classes({ look, small })}>
      {icon && <Icon name={icon} size={small ? 15 : 17} />}
      {children}
    </a>
  );
}

export function IconButton({
  icon,
  label,
  ...rest
}: { icon: IconName; label: string } & Omit<
  JSX.IntrinsicElements['button'],
  'icon' | 'label' | 'class'
>) {
  return (
    <button
      type="button"
      title={label}
      aria-label={label}
      {...rest}
      class="inline-grid size-9 flex-none place-items-center rounded-cut text-dim transition-colors hover:bg-well hover:text-ink disabled:opacity-50"
    >
      <Icon name={icon} />
    </button>
  );
}

export function Working() {
  return (
    <span class="inline-flex gap-[3px]" aria-hidden="true">
      <span class="h-3 w-1 animate-breathe bg-current" />
      <span class="h-3 w-1 animate-breathe bg-current [animation-delay:0.2s]" />
      <span class="h-3 w-1 animate-breathe bg-current [animation-delay:0.4s]" />
    </span>
  );
}

/** A text link. Links to other hosts open in a new tab. */
export function Link({
  href,
  children,
  ...rest
}: { href: string; children: ComponentChildren } & Omit<
  JSX.IntrinsicElements['a'],
  'class' | 'children' | 'role'
>) {
  const isForeign = /^https?:/.test(href);
  return (
    <a
      href={href}
      {...(isForeign ? { target: '_blank', rel: 'noreferrer' } : {})}
      {...rest}
      class="underline decoration-tungsten decoration-2 underline-offset-[3px] hover:bg-tungsten hover:text-on-tungsten"
    >
      {children}
    </a>
  );
}
