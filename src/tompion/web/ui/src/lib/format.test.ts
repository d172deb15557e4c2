import { describe, expect, it } from 'vitest'

import {
  clockText,
  dateText,
  dayText,
  durationText,
  firstLine,
  instantText,
  parseInstant,
  relativeText,
  sentenceText,
  shortInstantText,
  timeText,
} from './format'

const NOON = Date.parse('2026-11-16T12:00:00Z')

describe('durationText', () => {
  it.each([
    [0, '0 ms'],
    [840, '840 ms'],
    [999.6, '1000 ms'],
    [1_000, '1.0 s'],
    [9_949, '9.9 s'],
    [10_000, '10s'],
    [65_000, '1m 5s'],
    [3_600_000, '1h'],
    [273_600_000, '3d 4h'],
    [31_557_600_000, '1y'],
    [-65_000, '−1m 5s'],
  ])('formats %d ms as %s', (ms, text) => expect(durationText(ms)).toBe(text))

  it('shows at most two units', () => expect(durationText(90_061_000)).toBe('1d 1h'))
})

describe('relativeText', () => {
  it.each([
    [0, 'now'],
    [499, 'now'],
    [3_000, 'in 3s'],
    [310_000, 'in 5m 10s'],
    [-10_920_000, '3h 2m ago'],
  ])('formats an offset of %d ms as %s', (offset, text) => expect(relativeText(NOON + offset, NOON)).toBe(text))

  it('accepts an ISO string', () => expect(relativeText('2026-11-16T12:01:00Z', NOON)).toBe('in 1m'))
})

describe('clockText', () => {
  it.each([
    [49, 'in sync'],
    [-49, 'in sync'],
    [3_000, '3.0 s ahead'],
    [-90_000, '1m 30s behind'],
  ])('describes a skew of %d ms as %s', (skew, text) => expect(clockText(skew)).toBe(text))
})

describe('instants', () => {
  it('formats an instant in a zone', () => {
    expect(instantText(NOON, 'Europe/Berlin', 'minute')).toBe('Mon 2026-11-16 13:00')
    expect(instantText('2026-11-16T12:00:00.042Z', 'UTC', 'millisecond')).toBe('Mon 2026-11-16 12:00:00.042')
  })

  it('uses the day of the zone', () => {
    expect(dayText('2026-11-16T23:30:00Z', 'Asia/Tokyo')).toBe('2026-11-17')
    expect(timeText('2026-11-16T23:30:00Z', 'Asia/Tokyo', 'minute')).toBe('08:30')
  })

  it('leaves out the date of today and the year of this year', () => {
    expect(shortInstantText(NOON, 'UTC', NOON, 'minute')).toBe('12:00')
    expect(shortInstantText('2026-03-02T09:00:00Z', 'UTC', NOON)).toBe('Mon 2 Mar 09:00')
    expect(shortInstantText('2027-01-01T00:00:00Z', 'UTC', NOON)).toBe('Fri 1 Jan 2027 00:00')
  })

  it('formats a day in words', () =>
    expect(dateText('2027-01-01', { day: 'numeric', month: 'long', year: 'numeric' })).toBe('1 January 2027'))
})

describe('parseInstant', () => {
  const parse = (text: string, zone = 'Europe/Berlin') => parseInstant(text, zone)?.toISOString()

  it('parses a time in a zone', () => {
    expect(parse('2026-01-31 09:00')).toBe('2026-01-31T08:00:00.000Z')
    expect(parse(' 2026-07-31T09:00:30 ')).toBe('2026-07-31T07:00:30.000Z')
    expect(parse('2026-01-31 09:00', 'America/New_York')).toBe('2026-01-31T14:00:00.000Z')
  })

  it('takes the first occurrence of a repeated local time', () =>
    expect(parse('2026-10-25 02:30')).toBe('2026-10-25T00:30:00.000Z'))

  it.each(['2026-03-29 02:30', '2026-02-30 09:00', '09:00', 'tomorrow', '', '2026-01-31 25:00'])(
    'rejects %o, which is no time',
    (text) => expect(parse(text)).toBeUndefined(),
  )
})

describe('firstLine', () => {
  it('returns the first line, truncated', () => {
    expect(firstLine('boom\nTraceback')).toBe('boom')
    expect(firstLine(null)).toBe('')
    expect(firstLine('x'.repeat(141))).toBe(`${'x'.repeat(140)}…`)
  })
})

describe('sentenceText', () => {
  it('capitalises a message', () => {
    expect(sentenceText('no engine is running')).toBe('No engine is running')
    expect(sentenceText('3 runs waiting')).toBe('3 runs waiting')
    expect(sentenceText('')).toBe('')
  })

  it('keeps the name of a field', () => {
    expect(sentenceText('cron: too many fields')).toBe('cron: too many fields')
    expect(sentenceText('spec.exclude.windows[0]: no end')).toBe('spec.exclude.windows[0]: no end')
  })
})
