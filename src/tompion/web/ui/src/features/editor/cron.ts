/** The shapes that the builder knows; anything else is written by hand. */
export type Shape = 'minutes' | 'hourly' | 'daily' | 'weekly' | 'monthly' | 'other'

export interface Built {
  shape: Shape
  every: number
  minute: number
  hour: number
  days: string[]
  day: string
}

export const DAYS = ['MON', 'TUE', 'WED', 'THU', 'FRI', 'SAT', 'SUN']
const NUMBERED = ['SUN', 'MON', 'TUE', 'WED', 'THU', 'FRI', 'SAT', 'SUN']
const START: Built = { shape: 'daily', every: 15, minute: 0, hour: 9, days: ['MON'], day: '1' }

const whole = (text: string | undefined, most: number) => (text !== undefined && /^\d{1,2}$/.test(text) && Number(text) <= most ? Number(text) : undefined)

/** What the builder shows for a cron string; what was written as JSON may be anything. */
export function readCron(text: unknown): Built {
  const fields = String(text).trim().split(/\s+/)
  const other: Built = { ...START, shape: 'other' }
  if (fields.length !== 5 || fields[3] !== '*') return other
  const [first = '', second, third, , fifth = ''] = fields
  const every = /^\*\/(\d{1,2})$/.exec(first)
  if ((every || first === '*') && second === '*' && third === '*' && fifth === '*')
    return { ...START, shape: 'minutes', every: every ? Number(every[1]) : 1 }
  const [minute, hour] = [whole(first, 59), whole(second, 23)]
  if (minute === undefined) return other
  if (second === '*' && third === '*' && fifth === '*') return { ...START, shape: 'hourly', minute }
  if (hour === undefined) return other
  if (third === '*' && fifth === '*') return { ...START, shape: 'daily', minute, hour }
  const days = readDays(fifth)
  if (third === '*' && days) return { ...START, shape: 'weekly', minute, hour, days }
  if (fifth === '*' && third && /^(\d{1,2}|L|LW)$/.test(third)) return { ...START, shape: 'monthly', minute, hour, day: third }
  return other
}

function readDays(text: string): string[] | undefined {
  const found = new Set<string>()
  for (const part of text.toUpperCase().split(',')) {
    const [from, to = from] = part.split('-').map((each) => (/^[0-7]$/.test(each) ? NUMBERED[Number(each)] : each))
    const [first, last] = [DAYS.indexOf(from ?? ''), DAYS.indexOf(to ?? '')]
    if (first < 0 || last < first) return undefined
    DAYS.slice(first, last + 1).forEach((day) => found.add(day))
  }
  return DAYS.filter((day) => found.has(day))
}

function daysText(days: string[]): string {
  const chosen = DAYS.filter((day) => days.includes(day))
  const [first, last] = [DAYS.indexOf(chosen[0] ?? ''), DAYS.indexOf(chosen.at(-1) ?? '')]
  return chosen.length > 2 && last - first + 1 === chosen.length ? `${chosen[0]}-${chosen.at(-1)}` : chosen.join(',')
}

/** The cron string that the builder stands for. */
export function writeCron(built: Built): string {
  const { shape, every, minute, hour, days, day } = built
  if (shape === 'minutes') return every <= 1 ? '* * * * *' : `*/${every} * * * *`
  if (shape === 'hourly') return `${minute} * * * *`
  if (shape === 'weekly') return `${minute} ${hour} * * ${daysText(days.length > 0 ? days : ['MON'])}`
  if (shape === 'monthly') return `${minute} ${hour} ${day} * *`
  return `${minute} ${hour} * * *`
}
