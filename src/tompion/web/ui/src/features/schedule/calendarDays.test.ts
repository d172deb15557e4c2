import { describe, expect, it } from 'vitest'

import { addMonths, calendarDays, dayBoundaries } from './calendarDays'

it('covers a month with whole weeks', () => {
  const days = calendarDays('2026-11')
  expect([days[0], days.at(-1), days.length]).toEqual(['2026-10-26', '2026-12-06', 42])
  expect(calendarDays('2027-02')).toHaveLength(28)
})

it('adds months across years', () => {
  expect(addMonths('2026-11', 2)).toBe('2027-01')
  expect(addMonths('2026-01', -1)).toBe('2025-12')
})

describe('dayBoundaries', () => {
  const hours = (days: string[], zone: string) => {
    const edges = dayBoundaries(days, zone)
    return edges.slice(1).map((edge, at) => (edge - edges[at]!) / 3_600_000)
  }

  it('follows DST', () => {
    expect(hours(['2026-03-28', '2026-03-29', '2026-03-30'], 'Europe/Berlin')).toEqual([24, 23, 24])
    expect(hours(['2026-10-25'], 'Europe/Berlin')).toEqual([25])
  })

  it('begins a day after a skipped midnight', () =>
    expect(dayBoundaries(['2018-11-04'], 'America/Sao_Paulo')[0]).toBe(Date.parse('2018-11-04T03:00:00Z')))

  it('gives no time to a day that a zone skipped', () =>
    expect(hours(['2011-12-29', '2011-12-30', '2011-12-31'], 'Pacific/Apia')).toEqual([24, 0, 24]))
})
