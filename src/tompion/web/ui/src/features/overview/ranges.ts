/** How far the overview looks back and ahead, and into how many stretches it cuts that. */
export const TIME_RANGES = {
  hour: { seconds: 3_600, stretches: 60, name: 'hour' },
  day: { seconds: 86_400, stretches: 96, name: 'day' },
} as const

/** How many of the next ticks are asked for. */
export const MAX_UPCOMING = 400
