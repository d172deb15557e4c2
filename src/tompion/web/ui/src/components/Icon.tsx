/** Line icons on a grid of 16. */
const PATHS = {
  overview: 'M2 13h12M4 13V8M8 13V3M12 13V6',
  schedules: 'M2.5 4h2M2.5 8h2M2.5 12h2M7 4h6.5M7 8h6.5M7 12h6.5',
  runs: 'M4 3l8 5-8 5z',
  workflows: 'M3 4h4v3H3zM9 9h4v3H9zM5 7v3.5h4',
  calendars: 'M2.5 4h11v9.5h-11zM2.5 7h11M5.5 2v3M10.5 2v3',
  targets: 'M8 2.5a5.5 5.5 0 1 0 0 11 5.5 5.5 0 0 0 0-11zM8 5.7a2.3 2.3 0 1 0 0 4.6 2.3 2.3 0 0 0 0-4.6z',
  keys: 'M9.5 6.5a3 3 0 1 0-2.6 3L8 10.5h1.5V12H11v1.5h2.5V11L9.3 7.6',
  audit: 'M4 2.5h6l2.5 2.5v8.5h-8.5zM6 7h4.5M6 9.5h4.5',
  instances: 'M2.5 3h11v4h-11zM2.5 9h11v4h-11zM5 5h.01M5 11h.01',
  settings: 'M2 5h6M12 5h2M2 11h2M8 11h6M10 3.2v3.6M6 9.2v3.6',
  search: 'M7 2.5a4.5 4.5 0 1 0 0 9 4.5 4.5 0 0 0 0-9zM10.3 10.3l3.4 3.4',
  pause: 'M5.5 3.5v9M10.5 3.5v9',
  resume: 'M5 3l7.5 5L5 13z',
  trigger: 'M9 1.8L3.8 9H8l-1 5.2L12.2 7H8z',
  skip: 'M3 3.5L9.5 8 3 12.5zM12.5 3.5v9',
  more: 'M3.5 8h.01M8 8h.01M12.5 8h.01',
  check: 'M3 8.5l3.2 3.2L13 4.8',
  cross: 'M4 4l8 8M12 4l-8 8',
  sun: 'M8 5.2a2.8 2.8 0 1 0 0 5.6 2.8 2.8 0 0 0 0-5.6zM8 1.6v1.2M8 13.2v1.2M1.6 8h1.2M13.2 8h1.2M3.5 3.5l.9.9M11.6 11.6l.9.9M3.5 12.5l.9-.9M11.6 4.4l.9-.9',
  moon: 'M13 9.6A5.6 5.6 0 0 1 6.4 3a5.6 5.6 0 1 0 6.6 6.6z',
  auto: 'M8 2.5a5.5 5.5 0 1 0 0 11zM8 2.5a5.5 5.5 0 0 1 0 11',
  plus: 'M8 3v10M3 8h10',
  copy: 'M5.5 5.5h8v8h-8zM3 10.5V2.5h8',
  edit: 'M3 13l.7-3L10.5 3.2l2.3 2.3L6 12.3zM9.2 4.5l2.3 2.3',
  trash: 'M3 4.5h10M6.5 4.5v-2h3v2M4.5 4.5l.6 9h5.8l.6-9',
  refresh: 'M13 8a5 5 0 1 1-1.6-3.7M13 2.5v3h-3',
  left: 'M10 3.5L5.5 8l4.5 4.5',
  right: 'M6 3.5l4.5 4.5L6 12.5',
  down: 'M3.5 6L8 10.5 12.5 6',
  menu: 'M2.5 4.5h11M2.5 8h11M2.5 11.5h11',
  out: 'M9.5 3H3v10h6.5M7 8h7M11.5 5.5L14 8l-2.5 2.5',
  clock: 'M8 2.5a5.5 5.5 0 1 0 0 11 5.5 5.5 0 0 0 0-11zM8 5v3.2l2.2 1.4',
  warning: 'M8 2.8L14 13H2zM8 6.6v3M8 11.3h.01',
  filter: 'M2.5 3.5h11L9.5 8.4v4.4l-3-1.4v-3z',
} as const

export type IconName = keyof typeof PATHS

export function Icon({ name, size = 16, className }: { name: IconName; size?: number; className?: string }) {
  return (
    <svg
      viewBox="0 0 16 16"
      width={`${size / 16}rem`}
      height={`${size / 16}rem`}
      fill="none"
      stroke="currentColor"
      strokeWidth={1.4}
      strokeLinecap="round"
      strokeLinejoin="round"
      aria-hidden="true"
      className={className}
    >
      <path d={PATHS[name]} />
    </svg>
  )
}
