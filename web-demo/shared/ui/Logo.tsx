/** The logo: three rising bars. */
export function Logo({ size = 28 }: { size?: number }) {
  return (
    <svg width={size} height={size} viewBox="0 0 32 32" aria-hidden="true">
      <rect width="32" height="32" rx="9" fill="var(--brand)" />
      <g stroke="var(--on-brand)" strokeWidth="3.6" strokeLinecap="round">
        <path d="M9 22v-4" />
        <path d="M16 22V13" />
        <path d="M23 22V9" />
      </g>
    </svg>
  );
}
