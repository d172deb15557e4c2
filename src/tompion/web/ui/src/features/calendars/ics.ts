/** What was read from a file: whole days, and how many events were left out because they are of another kind. */
export interface Days {
  dates: string[]
  leftOut: number
}

const DAY = 86_400_000
const LONGEST_DAYS = 400

/** Reads the whole-day events of an iCalendar file that do not repeat; `tompion calendars import` reads all kinds. */
export function daysOf(text: string): Days {
  const dates = new Set<string>()
  let leftOut = 0
  const unfolded = text.replace(/\r?\n[ \t]/g, '')
  for (const event of unfolded.split(/^BEGIN:VEVENT\r?$/m).slice(1)) {
    const field = (name: string) => new RegExp(`^${name}(?:;[^:\\n]*)?:(.*?)\\r?$`, 'm').exec(event)?.[1]
    if (field('STATUS') === 'CANCELLED') continue
    const [start, end] = [day(field('DTSTART')), day(field('DTEND'))]
    if (start === undefined || field('RRULE')) {
      leftOut += 1
      continue
    }
    const last = Math.min(end === undefined ? start : end - DAY, start + LONGEST_DAYS * DAY)
    for (let at = start; at <= last; at += DAY) dates.add(new Date(at).toISOString().slice(0, 10))
  }
  return { dates: [...dates].sort(), leftOut }
}

function day(value: string | undefined): number | undefined {
  const found = /^(\d{4})(\d{2})(\d{2})$/.exec(value?.trim() ?? '')
  return found ? Date.UTC(Number(found[1]), Number(found[2]) - 1, Number(found[3])) : undefined
}
