import { expect, it } from 'vitest'

import { mergeBuckets } from './buckets'

const minute = (at: string, fires: number) => ({ start: `2026-11-16T${at}:00.000Z`, fires })

it('merges minutes into buckets', () => {
  const minutes = [minute('11:58', 1), minute('11:59', 2), minute('12:00', 3), minute('12:15', 4), minute('12:31', 5)]
  expect(mergeBuckets(minutes, 86_400, 96)).toEqual([
    minute('11:45', 3),
    minute('12:00', 3),
    minute('12:15', 4),
    minute('12:30', 5),
  ])
})

it('ends after the given number of buckets', () =>
  expect(mergeBuckets([minute('12:00', 1), minute('12:01', 1), minute('12:02', 1)], 120, 2)).toHaveLength(2))
