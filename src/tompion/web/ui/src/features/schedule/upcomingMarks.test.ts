import { expect, it } from 'vitest'

import { countBetween, type TickCounts } from './upcomingMarks'

const counts = {
  after: 0,
  bounds: [10, 20, 30, 40],
  preview: { counts: [1, 2, null] },
  times: [],
} as unknown as TickCounts

it('counts ticks between bounds', () => {
  expect(countBetween(counts, 10, 20)).toBe(1)
  expect(countBetween(counts, 10, 30)).toBe(3)
})

it('is undefined where ticks were not counted', () => {
  expect(countBetween(undefined, 10, 20)).toBeUndefined()
  expect(countBetween(counts, 30, 40)).toBeUndefined()
  expect(countBetween(counts, 10, 25)).toBeUndefined()
  expect(countBetween(counts, 20, 10)).toBeUndefined()
})
