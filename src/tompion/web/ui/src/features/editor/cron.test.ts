import { describe, expect, it } from 'vitest'

import { formatCron, parseCron } from './cron'

describe('the cron builder', () => {
  it.each([
    ['* * * * *', { shape: 'minutes', every: 1 }],
    ['*/15 * * * *', { shape: 'minutes', every: 15 }],
    ['5 * * * *', { shape: 'hourly', minute: 5 }],
    ['30 6 * * *', { shape: 'daily', minute: 30, hour: 6 }],
    ['0 9 * * MON-FRI', { shape: 'weekly', days: ['MON', 'TUE', 'WED', 'THU', 'FRI'] }],
    ['0 9 * * SAT,SUN', { shape: 'weekly', days: ['SAT', 'SUN'] }],
    ['0 0 LW * *', { shape: 'monthly', day: 'LW' }],
    ['0 0 31 * *', { shape: 'monthly', day: '31' }],
  ])('understands %s and writes it back', (text, parts) => {
    expect(parseCron(text)).toMatchObject(parts)
    expect(formatCron(parseCron(text))).toBe(text)
  })

  it('normalises numbers of days', () => {
    expect(parseCron('0 9 * * 1-5').days).toEqual(['MON', 'TUE', 'WED', 'THU', 'FRI'])
    expect(parseCron('0 9 * * 0,7').days).toEqual(['SUN'])
  })

  it.each([
    '',
    '0 9 * *',
    '60 9 * * *',
    '0 24 * * *',
    '0 9 1 JAN *',
    '0 9 * * FRI-MON',
    '@daily',
    '0 9 1 * MON',
    null,
    5,
  ])('leaves %o to the text input', (text) => expect(parseCron(text).shape).toBe('other'))

  it('never writes a week without days', () =>
    expect(formatCron({ ...parseCron('0 9 * * SAT'), days: [] })).toBe('0 9 * * MON'))
})
