/** The shapes that the builder supports. Any other expression is 'other'. */
export type Shape = 'minutes' | 'hourly' | 'daily' | 'weekly' | 'monthly' | 'other'

export interface CronParts {
  shape: Shape
  every: number
  minute: number
  hour: number
  days: string[]
  day: string
}

export const DAYS = ['MON', 'TUE', 'WED', 'THU', 'FRI', 'SAT', 'SUN']
const DAY_BY_NUMBER = ['SUN', 'MON', 'TUE', 'WED', 'THU', 'FRI', 'SAT', 'SUN']
const DEFAULT_PARTS: CronParts = { shape: 'daily', every: 15, minute: 0, hour: 9, days: ['MON'], day: '1' }

const parseNumber = (text: string | undefined, max: number) =>
  text !== undefined && /^\d{1,2}$/.test(text) && Number(text) <= max ? Number(text) : undefined

/** Parse a cron expression for the builder. The value comes from JSON, so it can be of any type. */
export function parseCron(text: unknown): CronParts {
  const fields = String(text).trim().split(/\s+/)
  const custom: CronParts = { ...DEFAULT_PARTS, shape: 'other' }
  if (fields.length !== 5 || fields[3] !== '*') return custom
  const [first = '', second, third, , fifth = ''] = fields
  const every = /^\*\/(\d{1,2})$/.exec(first)
  if ((every || first === '*') && second === '*' && third === '*' && fifth === '*')
    return { ...DEFAULT_PARTS, shape: 'minutes', every: every ? Number(every[1]) : 1 }
  const [minute, hour] = [parseNumber(first, 59), parseNumber(second, 23)]
  if (minute === undefined) return custom
  if (second === '*' && third === '*' && fifth === '*') return { ...DEFAULT_PARTS, shape: 'hourly', minute }
  if (hour === undefined) return custom
  if (third === '*' && fifth === '*') return { ...DEFAULT_PARTS, shape: 'daily', minute, hour }
  const days = parseDays(fifth)
  if (third === '*' && days) return { ...DEFAULT_PARTS, shape: 'weekly', minute, hour, days }
  if (fifth === '*' && third && /^(\d{1,2}|L|LW)$/.test(third))
    return { ...DEFAULT_PARTS, shape: 'monthly', minute, hour, day: third }
  return custom
}

function parseDays(text: string): string[] | undefined {
  const selected = new Set<string>()
  for (const part of text.toUpperCase().split(',')) {
    const [from, to = from] = part.split('-').map((name) => (/^[0-7]$/.test(name) ? DAY_BY_NUMBER[Number(name)] : name))
    const [first, last] = [DAYS.indexOf(from ?? ''), DAYS.indexOf(to ?? '')]
    if (first < 0 || last < first) return undefined
    for (const day of DAYS.slice(first, last + 1)) selected.add(day)
  }
  return DAYS.filter((day) => selected.has(day))
}

function formatDays(days: string[]): string {
  const ordered = DAYS.filter((day) => days.includes(day))
  const [first, last] = [DAYS.indexOf(ordered[0] ?? ''), DAYS.indexOf(ordered.at(-1) ?? '')]
  return ordered.length > 2 && last - first + 1 === ordered.length
    ? `${ordered[0]}-${ordered.at(-1)}`
    : ordered.join(',')
}

/** Return the cron expression for the inputs of the builder. */
export function formatCron(parts: CronParts): string {
  const { shape, every, minute, hour, days, day } = parts
  if (shape === 'minutes') return every <= 1 ? '* * * * *' : `*/${every} * * * *`
  if (shape === 'hourly') return `${minute} * * * *`
  if (shape === 'weekly') return `${minute} ${hour} * * ${formatDays(days.length > 0 ? days : ['MON'])}`
  if (shape === 'monthly') return `${minute} ${hour} ${day} * *`
  return `${minute} ${hour} * * *`
}
