import { LOCALE, t } from '../messages'

/** Shown in place of a value that does not exist. */
export const NO_VALUE = '–'

const formats = new Map<string, Intl.DateTimeFormat>()

function format(zone: string, options: Intl.DateTimeFormatOptions): Intl.DateTimeFormat {
  const name = `${zone} ${JSON.stringify(options)}`
  let formatter = formats.get(name)
  if (!formatter) {
    formatter = new Intl.DateTimeFormat(LOCALE, { timeZone: zone, hourCycle: 'h23', ...options })
    formats.set(name, formatter)
  }
  return formatter
}

const ALL_PARTS: Intl.DateTimeFormatOptions = {
  year: 'numeric',
  month: '2-digit',
  day: '2-digit',
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
  weekday: 'short',
}
const MAX_CACHED_SECONDS = 200
const partsByZone = new Map<string, { formatter: Intl.DateTimeFormat; cache: Map<number, Record<string, string>> }>()

/** The parts of an instant, to the second. They are cached: formatting is slow, and a list shows the same instants often. */
function parts(instant: number, zone: string): Record<string, string> {
  let zoneCache = partsByZone.get(zone)
  if (!zoneCache) {
    zoneCache = { formatter: format(zone, ALL_PARTS), cache: new Map() }
    partsByZone.set(zone, zoneCache)
  }
  const second = Math.floor(instant / 1_000)
  let cached = zoneCache.cache.get(second)
  if (!cached) {
    if (zoneCache.cache.size >= MAX_CACHED_SECONDS) zoneCache.cache.clear()
    cached = Object.fromEntries(zoneCache.formatter.formatToParts(instant).map(({ type, value }) => [type, value]))
    zoneCache.cache.set(second, cached)
  }
  return cached
}

/** Format a day such as "2026-11-16" in words. */
export function dateText(day: string, options: Intl.DateTimeFormatOptions): string {
  return format('UTC', options).format(Date.parse(`${day}T12:00:00Z`))
}

export type Precision = 'minute' | 'second' | 'millisecond'

/** Format an instant as "Mon 2026-11-16 09:00", to the given precision. */
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

/** Return the day of an instant in a zone: "2026-11-16". */
export function dayText(at: string | number, zone: string): string {
  const { year, month, day } = parts(typeof at === 'number' ? at : Date.parse(at), zone)
  return `${year}-${month}-${day}`
}

const TIME = /^\d{4}-\d\d-\d\d[ T]\d\d:\d\d(:\d\d)?$/
const DAY_MS = 86_400_000

/** Parse a time such as "2026-11-16 09:00" in a zone. A time that occurs twice is its first occurrence. The result is
 * undefined for a time that does not exist: on 30 February, or in the hour that DST skips in spring. */
export function parseInstant(text: string, zone: string): Date | undefined {
  const normalized = text.trim().replace('T', ' ')
  const wallTime = Date.parse(`${normalized.replace(' ', 'T')}Z`)
  if (!TIME.test(normalized) || Number.isNaN(wallTime)) return undefined
  return [wallTime - DAY_MS, wallTime + DAY_MS]
    .map((guess) => new Date(wallTime - offset(guess, zone)))
    .find((candidate) =>
      `${dayText(candidate.getTime(), zone)} ${timeText(candidate.getTime(), zone)}`.startsWith(normalized),
    )
}

function offset(instant: number, zone: string): number {
  return Date.parse(`${dayText(instant, zone)}T${timeText(instant, zone)}Z`) - Math.floor(instant / 1_000) * 1_000
}

/** Format an instant in short: without the date if it is today. */
export function shortInstantText(
  at: string | number,
  zone: string,
  now: number,
  precision: Precision = 'second',
): string {
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

/** Format a duration with its two largest units: "3d 4h", "12m 5s", "840 ms". */
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

/** Format an instant relative to now: "in 5m 10s" or "3h 2m ago". */
export function relativeText(at: string | number, now: number): string {
  const offsetMs = (typeof at === 'number' ? at : Date.parse(at)) - now
  const rounded = Math.round(offsetMs / 1_000) * 1_000
  if (Math.abs(rounded) < 1_000) return t('time.now')
  const text = durationText(Math.max(Math.abs(rounded), 1_000))
    .replace(/\.0 s$/, 's')
    .replace(/ s$/, 's')
  return rounded > 0 ? t('time.in', { duration: text }) : t('time.ago', { duration: text })
}

/** Describe the difference between a clock and that of the database. */
export function clockText(skewMs: number): string {
  if (Math.abs(skewMs) < 50) return t('time.clockInSync')
  const duration = durationText(Math.abs(skewMs))
  return skewMs > 0 ? t('time.clockAhead', { duration }) : t('time.clockBehind', { duration })
}

const STARTS_WITH_FIELD = /^[a-z_][\w.[\]]*:/

/** Return a message of the server with a capital first letter, unless it begins with the name of a field. */
export function sentenceText(message: string): string {
  return STARTS_WITH_FIELD.test(message) ? message : message.charAt(0).toUpperCase() + message.slice(1)
}

const MAX_LINE_LENGTH = 140

/** Return the first line of an error, truncated. The view of the run shows the whole error. */
export function firstLine(error: string | null | undefined): string {
  const line = error?.split('\n', 1)[0] ?? ''
  return line.length > MAX_LINE_LENGTH ? `${line.slice(0, MAX_LINE_LENGTH)}…` : line
}
