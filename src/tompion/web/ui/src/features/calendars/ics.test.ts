import { expect, it } from 'vitest'

import { parseIcsDates } from './ics'

const event = (...lines: string[]) => ['BEGIN:VEVENT', ...lines, 'END:VEVENT'].join('\r\n')

it('reads whole days, also of events that are longer than a day', () => {
  const text = [
    'BEGIN:VCALENDAR',
    event('DTSTART;VALUE=DATE:20261225', 'SUMMARY:Christ', ' mas'),
    event('DTSTART;VALUE=DATE:20261231', 'DTEND;VALUE=DATE:20270102'),
    'END:VCALENDAR',
  ].join('\r\n')
  expect(parseIcsDates(text)).toEqual({ dates: ['2026-12-25', '2026-12-31', '2027-01-01'], skipped: 0 })
})

it('skips timed, recurring and cancelled events', () => {
  const text = [
    event('DTSTART:20261225T090000Z'),
    event('DTSTART;VALUE=DATE:20261226', 'RRULE:FREQ=YEARLY'),
    event('DTSTART;VALUE=DATE:20261227', 'STATUS:CANCELLED'),
  ].join('\n')
  expect(parseIcsDates(text)).toEqual({ dates: [], skipped: 2 })
})
