/** The logo: the balance of an early clock, a bar with two weights. */
export function Logo({ size = 20 }: { size?: number }) {
  return (
    <svg viewBox="0 0 32 32" width={size} height={size} aria-hidden="true">
      <g stroke="var(--t-brass)" strokeWidth="2.6" strokeLinecap="round" fill="none">
        <path d="M4 10h24M16 10v17" />
        <path d="M7 6v8M25 6v8" />
      </g>
      <circle cx="16" cy="10" r="3" fill="var(--t-brass)" />
    </svg>
  )
}
