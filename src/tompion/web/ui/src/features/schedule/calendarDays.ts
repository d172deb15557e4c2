import { dayText } from '../../lib/format'

const DAY = 86_400_000
const MAX_OFFSET = 15 * 3_600_000

/** Return the days of whole weeks that cover a month, from a Monday to a Sunday. */
export function calendarDays(month: string): string[] {
  const [year = 0, number = 1] = month.split('-').map(Number)
  const first = new Date(Date.UTC(year, number - 1, 1))
  const last = new Date(Date.UTC(year, number, 0))
  const begin = first.getTime() - ((first.getUTCDay() + 6) % 7) * DAY
  const end = last.getTime() + ((7 - last.getUTCDay()) % 7) * DAY
  return Array.from({ length: (end - begin) / DAY + 1 }, (_, at) =>
    new Date(begin + at * DAY).toISOString().slice(0, 10),
  )
}

/** Return the start of each day in a zone and the end of the last one, in milliseconds. */
export function dayBoundaries(days: string[], zone: string): number[] {
  const after = new Date(Date.parse(days.at(-1)!) + DAY).toISOString().slice(0, 10)
  const boundaries: number[] = []
  for (const day of [...days, after]) {
    const guess = (boundaries.at(-1) ?? Number.NaN) + DAY
    boundaries.push(isStartOfDay(guess, day, zone) ? guess : startOfDay(day, zone))
  }
  return boundaries
}

/** Return whether an instant is the first second of a day. */
function isStartOfDay(instant: number, day: string, zone: string): boolean {
  return instant > 0 && dayText(instant, zone) >= day && dayText(instant - 1_000, zone) < day
}

/** Return the first second of a day by binary search, because DST may skip midnight. */
function startOfDay(day: string, zone: string): number {
  const midnight = Date.parse(day)
  let [lower, upper] = [(midnight - MAX_OFFSET) / 1_000, (midnight + MAX_OFFSET) / 1_000]
  while (upper - lower > 1) {
    const middle = Math.floor((lower + upper) / 2)
    if (dayText(middle * 1_000, zone) < day) lower = middle
    else upper = middle
  }
  return upper * 1_000
}

/** Return the month that is `count` months after one such as "2026-11". */
export function addMonths(month: string, count: number): string {
  const [year = 0, number = 1] = month.split('-').map(Number)
  return new Date(Date.UTC(year, number - 1 + count, 1)).toISOString().slice(0, 7)
}
