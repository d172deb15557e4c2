import { afterEach, beforeEach, expect, it, vi } from 'vitest'

import { now, syncServerTime } from './clock'

const START = Date.parse('2026-11-16T12:00:00Z')

beforeEach(() => void vi.useFakeTimers({ now: START }))
afterEach(() => {
  syncServerTime(new Date(Date.now()).toUTCString())
  vi.useRealTimers()
})

it('follows the clock of the server if it differs by seconds', () => {
  syncServerTime('Mon, 16 Nov 2026 12:01:00 GMT')
  expect(now() - START).toBe(60_500)
})

it('ignores a small difference and an invalid header', () => {
  syncServerTime('Mon, 16 Nov 2026 12:00:01 GMT')
  syncServerTime('yesterday')
  syncServerTime(null)
  expect(now()).toBe(START)
})
