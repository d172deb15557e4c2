/** The whole days of a file, and the number of events that were skipped because they are timed or recurring. */
export interface IcsDates {
  dates: string[]
  skipped: number
}

const DAY = 86_400_000
const MAX_EVENT_DAYS = 400

/** Parse the whole-day events of an iCalendar file that do not recur. `tompion calendars import` reads all kinds. */
export function parseIcsDates(text: string): IcsDates {
  const dates = new Set<string>()
  let skipped = 0
  const unfolded = text.replace(/\r?\n[ \t]/g, '')
  for (const event of unfolded.split(/^BEGIN:VEVENT\r?$/m).slice(1)) {
    const field = (name: string) => new RegExp(`^${name}(?:;[^:\\n]*)?:(.*?)\\r?$`, 'm').exec(event)?.[1]
    if (field('STATUS') === 'CANCELLED') continue
    const [start, end] = [parseDay(field('DTSTART')), parseDay(field('DTEND'))]
    if (start === undefined || field('RRULE')) {
      skipped += 1
      continue
    }
    const last = Math.min(end === undefined ? start : end - DAY, start + MAX_EVENT_DAYS * DAY)
    for (let at = start; at <= last; at += DAY) dates.add(new Date(at).toISOString().slice(0, 10))
  }
  return { dates: [...dates].sort(), skipped }
}

function parseDay(value: string | undefined): number | undefined {
  const match = /^(\d{4})(\d{2})(\d{2})$/.exec(value?.trim() ?? '')
  return match ? Date.UTC(Number(match[1]), Number(match[2]) - 1, Number(match[3])) : undefined
}
