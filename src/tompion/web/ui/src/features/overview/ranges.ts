/** The time ranges of the overview, and the number of buckets of its charts. */
export const TIME_RANGES = {
  hour: { seconds: 3_600, buckets: 60 },
  day: { seconds: 86_400, buckets: 96 },
} as const

/** The number of upcoming runs to load. */
export const MAX_UPCOMING = 400
