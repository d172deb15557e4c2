const formats = new Map<string, Intl.DateTimeFormat>()

function format(zone: string, options: Intl.DateTimeFormatOptions): Intl.DateTimeFormat {
  const name = `${zone} ${JSON.stringify(options)}`
  let formatter = formats.get(name)
  if (!formatter) {
    formatter = new Intl.DateTimeFormat('en-GB', { timeZone: zone, hourCycle: 'h23', ...options })
    formats.set(name, formatter)
  }
  return formatter
}

const ALL_PARTS: Intl.DateTimeFormatOptions = {
  year: 'numeric', month: '2-digit', day: '2-digit', hour: '2-digit', minute: '2-digit', second: '2-digit', weekday: 'short',
}
const MAX_CACHED_SECONDS = 200
const partsByZone = new Map<string, { formatter: Intl.DateTimeFormat; cache: Map<number, Record<string, string>> }>()

/** The parts of an instant, to the second. A list asks for the same ones again and again, and they are dear: so they are kept. */
function parts(instant: number, zone: string): Record<string, string> {
  let zoneCache = partsByZone.get(zone)
  if (!zoneCache) partsByZone.set(zone, (zoneCache = { formatter: format(zone, ALL_PARTS), cache: new Map() }))
  const second = Math.floor(instant / 1_000)
  let cached = zoneCache.cache.get(second)
  if (!cached) {
    if (zoneCache.cache.size >= MAX_CACHED_SECONDS) zoneCache.cache.clear()
    cached = Object.fromEntries(zoneCache.formatter.formatToParts(instant).map(({ type, value }) => [type, value]))
    zoneCache.cache.set(second, cached)
  }
  return cached
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
  const text = precision === 'minute' ? `${hour}:${minute}` : `${hour}:${minute}:${second}`
  return precision === 'millisecond' ? `${text}.${String(instant % 1000).padStart(3, '0')}` : text
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
export function parseInstant(text: string, zone: string): Date | undefined {
  const normalized = text.trim().replace('T', ' ')
  const wallTime = Date.parse(`${normalized.replace(' ', 'T')}Z`)
  if (!TIME.test(normalized) || Number.isNaN(wallTime)) return undefined
  return [wallTime - DAY_MS, wallTime + DAY_MS]
    .map((guess) => new Date(wallTime - offset(guess, zone)))
    .find((candidate) => `${dayText(candidate.getTime(), zone)} ${timeText(candidate.getTime(), zone)}`.startsWith(normalized))
}

function offset(instant: number, zone: string): number {
  return Date.parse(`${dayText(instant, zone)}T${timeText(instant, zone)}Z`) - Math.floor(instant / 1_000) * 1_000
}

/** Leaves out the date of today. */
export function shortInstantText(at: string | number, zone: string, now: number, precision: Precision = 'second'): string {
  const instant = typeof at === 'number' ? at : Date.parse(at)
  const today = dayText(now, zone)
  if (dayText(instant, zone) === today) return timeText(instant, zone, precision)
  const { weekday, day, year } = parts(instant, zone)
  const month = format(zone, { month: 'short' }).format(instant)
  const yearSuffix = today.startsWith(year ?? '') ? '' : ` ${year}`
  return `${weekday} ${Number(day)} ${month}${yearSuffix} ${timeText(instant, zone, precision === 'millisecond' ? precision : 'minute')}`
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
  const units: string[] = []
  for (const [size, unit] of STEPS.slice(first, first + 2)) {
    const count = Math.floor(rest / size)
    rest -= count * size
    if (count > 0) units.push(`${count}${unit}`)
  }
  return units.join(' ')
}

/** "in 5m 10s" or "3h 2m ago". */
export function relativeText(at: string | number, now: number): string {
  const offsetMs = (typeof at === 'number' ? at : Date.parse(at)) - now
  const rounded = Math.round(offsetMs / 1_000) * 1_000
  if (Math.abs(rounded) < 1_000) return 'now'
  const text = durationText(Math.max(Math.abs(rounded), 1_000)).replace(/\.0 s$/, 's').replace(/ s$/, 's')
  return rounded > 0 ? `in ${text}` : `${text} ago`
}

/** How a clock goes, compared with that of the store. */
export function clockText(skewMs: number): string {
  return Math.abs(skewMs) < 50 ? 'exact' : `${durationText(Math.abs(skewMs))} ${skewMs > 0 ? 'ahead' : 'behind'}`
}

export function countText(count: number, singular: string, plural = `${singular}s`): string {
  return `${count.toLocaleString('en-GB')} ${count === 1 ? singular : plural}`
}

const MAX_LINE_LENGTH = 140

/** What an error says first; all of it stands in the run itself. */
export function firstLine(error: string | null | undefined): string {
  const line = error?.split('\n', 1)[0] ?? ''
  return line.length > MAX_LINE_LENGTH ? `${line.slice(0, MAX_LINE_LENGTH)}…` : line
}
