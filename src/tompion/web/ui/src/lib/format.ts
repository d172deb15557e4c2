const formats = new Map<string, Intl.DateTimeFormat>()

function format(zone: string, options: Intl.DateTimeFormatOptions): Intl.DateTimeFormat {
  const name = `${zone} ${JSON.stringify(options)}`
  let made = formats.get(name)
  if (!made) {
    made = new Intl.DateTimeFormat('en-GB', { timeZone: zone, hourCycle: 'h23', ...options })
    formats.set(name, made)
  }
  return made
}

const ALL_PARTS: Intl.DateTimeFormatOptions = {
  year: 'numeric', month: '2-digit', day: '2-digit', hour: '2-digit', minute: '2-digit', second: '2-digit', weekday: 'short',
}
const MOST_KEPT = 200
const inZones = new Map<string, { formatter: Intl.DateTimeFormat; kept: Map<number, Record<string, string>> }>()

/** The parts of an instant, to the second. A list asks for the same ones again and again, and they are dear: so they are kept. */
function parts(instant: number, zone: string): Record<string, string> {
  let here = inZones.get(zone)
  if (!here) inZones.set(zone, (here = { formatter: format(zone, ALL_PARTS), kept: new Map() }))
  const second = Math.floor(instant / 1_000)
  let found = here.kept.get(second)
  if (!found) {
    if (here.kept.size >= MOST_KEPT) here.kept.clear()
    found = Object.fromEntries(here.formatter.formatToParts(instant).map(({ type, value }) => [type, value]))
    here.kept.set(second, found)
  }
  return found
}

/** A day, "2026-11-16", in words. */
export function dateText(day: string, options: Intl.DateTimeFormatOptions): string {
  return format('UTC', options).format(Date.parse(`${day}T12:00:00Z`))
}

export type Precision = 'minute' | 'second' | 'millisecond'

/** "Mon 2026-11-16 09:00", with as much after it as is wanted. */
export function instantText(at: string | number, zone: string, precision: Precision = 'second'): string {
  const instant = typeof at === 'number' ? at : Date.parse(at)
  const { weekday, year, month, day } = parts(instant, zone)
  return `${weekday} ${year}-${month}-${day} ${timeText(instant, zone, precision)}`
}

export function timeText(at: string | number, zone: string, precision: Precision = 'second'): string {
  const instant = typeof at === 'number' ? at : Date.parse(at)
  const { hour, minute, second } = parts(instant, zone)
  const upTo = precision === 'minute' ? `${hour}:${minute}` : `${hour}:${minute}:${second}`
  return precision === 'millisecond' ? `${upTo}.${String(instant % 1000).padStart(3, '0')}` : upTo
}

/** "2026-11-16", the day on which an instant falls in a zone. */
export function dayText(at: string | number, zone: string): string {
  const { year, month, day } = parts(typeof at === 'number' ? at : Date.parse(at), zone)
  return `${year}-${month}-${day}`
}

const TIME = /^\d{4}-\d\d-\d\d[ T]\d\d:\d\d(:\d\d)?$/
const DAY_MS = 86_400_000

/** The instant of a time, written as everywhere on the page, on the clocks of a zone: the first, where they show it twice;
 * none where they never do, on 30 February or in the hour that is left out in spring. */
export function instantOf(text: string, zone: string): Date | undefined {
  const wanted = text.trim().replace('T', ' ')
  const shown = Date.parse(`${wanted.replace(' ', 'T')}Z`)
  if (!TIME.test(wanted) || Number.isNaN(shown)) return undefined
  return [shown - DAY_MS, shown + DAY_MS]
    .map((near) => new Date(shown - offset(near, zone)))
    .find((found) => `${dayText(found.getTime(), zone)} ${timeText(found.getTime(), zone)}`.startsWith(wanted))
}

function offset(instant: number, zone: string): number {
  return Date.parse(`${dayText(instant, zone)}T${timeText(instant, zone)}Z`) - Math.floor(instant / 1_000) * 1_000
}

/** Leaves out the date of today. */
export function nearText(at: string | number, zone: string, now: number, precision: Precision = 'second'): string {
  const instant = typeof at === 'number' ? at : Date.parse(at)
  const today = dayText(now, zone)
  if (dayText(instant, zone) === today) return timeText(instant, zone, precision)
  const { weekday, day, year } = parts(instant, zone)
  const month = format(zone, { month: 'short' }).format(instant)
  const withYear = today.startsWith(year ?? '') ? '' : ` ${year}`
  return `${weekday} ${Number(day)} ${month}${withYear} ${timeText(instant, zone, precision === 'millisecond' ? precision : 'minute')}`
}

const STEPS: [number, string][] = [
  [31_557_600_000, 'y'],
  [86_400_000, 'd'],
  [3_600_000, 'h'],
  [60_000, 'm'],
  [1_000, 's'],
]

/** "3d 4h", "12m 5s", "840 ms": the two largest units of a duration. */
export function durationText(ms: number): string {
  if (ms < 0) return `−${durationText(-ms)}`
  if (ms < 1_000) return `${Math.round(ms)} ms`
  if (ms < 10_000) return `${(ms / 1_000).toFixed(1)} s`
  const first = STEPS.findIndex(([size]) => ms >= size)
  let rest = ms
  const shown: string[] = []
  for (const [size, unit] of STEPS.slice(first, first + 2)) {
    const count = Math.floor(rest / size)
    rest -= count * size
    if (count > 0) shown.push(`${count}${unit}`)
  }
  return shown.join(' ')
}

/** "in 5m 10s" or "3h 2m ago". */
export function relativeText(at: string | number, now: number): string {
  const off = (typeof at === 'number' ? at : Date.parse(at)) - now
  const rounded = Math.round(off / 1_000) * 1_000
  if (Math.abs(rounded) < 1_000) return 'now'
  const text = durationText(Math.max(Math.abs(rounded), 1_000)).replace(/\.0 s$/, 's').replace(/ s$/, 's')
  return rounded > 0 ? `in ${text}` : `${text} ago`
}

/** How a clock goes, compared with that of the store. */
export function clockText(skewMs: number): string {
  return Math.abs(skewMs) < 50 ? 'exact' : `${durationText(Math.abs(skewMs))} ${skewMs > 0 ? 'ahead' : 'behind'}`
}

export function countText(count: number, one: string, many = `${one}s`): string {
  return `${count.toLocaleString('en-GB')} ${count === 1 ? one : many}`
}

const LONGEST_LINE = 140

/** What an error says first; all of it stands in the run itself. */
export function firstLine(error: string | null | undefined): string {
  const line = error?.split('\n', 1)[0] ?? ''
  return line.length > LONGEST_LINE ? `${line.slice(0, LONGEST_LINE)}…` : line
}
