/** The time ranges of the timeline, in milliseconds. */
export const WINDOWS = {
  '10m': 600_000,
  '1h': 3_600_000,
  '6h': 21_600_000,
  '24h': 86_400_000,
  '7d': 604_800_000,
} as const

export type Window = keyof typeof WINDOWS
