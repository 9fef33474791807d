/** The sign of the product: the corners of a frame, and what was cut to fit. */
function Mark() {
  return (
    <svg viewBox="0 0 26 26" width="26" height="26" aria-hidden="true" class="flex-none">
      <path
        d="M1 8V1h7M18 1h7v7M25 18v7h-7M8 25H1v-7"
        fill="none"
        stroke="currentColor"
        stroke-width="2"
      />
      <path d="M6 8.5h14v9H6z" class="fill-tungsten" />
    </svg>
  );
}

/** The sign and the name. `hasCompany`: on a phone the sign only, since more stands beside it. */
export function Brand({ hasCompany }: { hasCompany: boolean }) {
  return (
    <a href="/" class="inline-flex items-center gap-2.5 text-lg font-semibold tracking-[-0.03em]">
      <Mark />
      <span class={hasCompany ? 'max-[28rem]:sr-only' : ''}>Framewright</span>
    </a>
  );
}
