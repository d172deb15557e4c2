import { keepPreviousData, queryOptions, useQuery } from '@tanstack/react-query'
import { useMemo } from 'react'

import { answer, api } from '../../api/client'
import { key } from '../../api/queries'
import type { Description, Preview } from '../../api/types'
import { movedText, reasonText } from '../../components/outcomes'
import type { Day, Mark } from './timelineMarks'

/** What a spec does after an instant, and how many ticks it has between some. */
export interface Counted {
  since: number
  bounds: number[]
  preview: Preview
  /** When each of its ticks is, in milliseconds. */
  times: number[]
}

const ONE_BY_ONE = 500
const OF_A_DAY = 240
const SECOND = 1_000
const STEP = 300 * SECOND
const NOTHING: Day = { marks: [], unread: 'no' }
const UNKNOWN: Day = { marks: [], unread: 'all' }

/** Ask what the spec of a schedule does: some ticks one by one, and how many there are between instants. */
export function countQuery(id: string, found: Description | undefined, since: number, count: number, bounds: number[]) {
  const { version, definition, degraded } = found?.schedule ?? {}
  const zone = degraded ? { timezone: null } : {}  // it fires in UTC, because its own zone is not known any more
  return queryOptions({
    queryKey: key('ahead', id, version, since, count, bounds),
    queryFn: async (): Promise<Counted> => {
      const about = { schedule_id: id, after: since / SECOND, count, bounds: bounds.map((each) => each / SECOND) }
      const body = { ...definition?.spec, ...zone, ...about }
      const preview = await answer(api.POST('/api/v1/preview', { body }))
      return { since, bounds, preview, times: preview.ticks.map((tick) => Date.parse(tick.at)) }
    },
    staleTime: STEP,
    placeholderData: keepPreviousData,
  })
}

/** How many ticks lie from one bound up to another; nothing if that was not counted. */
export function between(counted: Counted | undefined, from: number, to: number): number | undefined {
  if (!counted) return undefined
  const [first, last] = [counted.bounds.indexOf(from), counted.bounds.indexOf(to)]
  if (first < 0 || last <= first) return undefined
  let sum = 0
  for (const each of counted.preview.counts.slice(first, last)) {
    if (each === null) return undefined
    sum += each
  }
  return sum
}

/** What is to come on each of some days, those of one of them one by one. */
export function useAhead(id: string, found: Description | undefined, edges: number[], chosen: number, now: number): Day[] {
  const step = Math.floor(Math.max(now, Date.parse(found?.schedule.cursor ?? '') || 0) / STEP) * STEP
  const since = Math.max(step, edges[0]! - SECOND)
  const bounds = useMemo(() => [since + SECOND, ...edges.filter((edge) => edge > since + SECOND)], [since, edges])
  const follows = Boolean(found && !found.outlook && ['active', 'paused'].includes(found.schedule.state))
  const month = useQuery({ ...countQuery(id, found, since, ONE_BY_ONE, bounds), enabled: follows && bounds.length > 1 }).data
  const days = edges.slice(0, -1).map((edge, at) => {
    if (!found) return UNKNOWN
    if (edges[at + 1]! <= now) return NOTHING
    return follows ? counted(found, month, edge, edges[at + 1]!, now) : known(found, edge, edges[at + 1]!)
  })
  const many = days[chosen]?.marks.find((mark) => mark.from !== undefined)
  const from = Math.max(since, (edges[chosen] ?? 0) - SECOND)
  const day = useQuery({ ...countQuery(id, found, from, OF_A_DAY, []), enabled: many !== undefined }).data
  if (!found || !many || day?.since !== from) return days
  const some = singles(found, day, edges[chosen]!, edges[chosen + 1]!, now)
  const rest = many.ticks - some.filter((mark) => mark.kind === 'coming').length
  const last = some.at(-1)
  const marks = rest > 0 && last ? [...some, gathered(last.at + SECOND, edges[chosen + 1]! - SECOND, rest, found)] : some
  return days.with(chosen, { marks, unread: 'no' })
}

/** What an adaptive schedule knows already; one that has ended has nothing to come. */
function known(found: Description, begin: number, end: number): Day {
  if (!found.outlook || !['active', 'paused'].includes(found.schedule.state)) return NOTHING
  const ticks = found.next_ticks.map((at) => Date.parse(at))
  const marks = ticks.filter((at) => at >= begin && at < end).map((at) => single(found, at, ''))
  return { marks, unread: (ticks.at(-1) ?? 0) >= end ? 'no' : marks.length > 0 ? 'part' : 'all' }
}

/** What the spec has on a day: one by one if that was read, in one sum if it was only counted. */
function counted(found: Description, month: Counted | undefined, begin: number, end: number, now: number): Day {
  if (!month) return UNKNOWN
  const from = Math.max(begin, month.since + SECOND)
  const count = between(month, from, end)
  const read = month.times.filter((at) => at >= from && at < end).length
  const marks = singles(found, month, from, end, now)
  if (count === undefined) return { marks, unread: marks.length > 0 ? 'part' : 'all' }
  if (count === read) return { marks, unread: 'no' }
  const skipped = found.skipped_ticks.map((at) => Date.parse(at)).filter((at) => at >= from && at < end)
  const done = read - marks.length
  const sum = gathered(from, end - SECOND, count - done - skipped.length, found)
  return { marks: [...skipped.map((at) => single(found, at, '', true)), sum], unread: 'no' }
}

function singles(found: Description, { preview, times }: Counted, begin: number, end: number, now: number): Mark[] {
  const decided = found.schedule.state === 'paused' ? now : Date.parse(found.schedule.cursor)
  const skipped = new Set(found.skipped_ticks.map((at) => Date.parse(at)))
  return preview.ticks.flatMap((tick, number) => {
    const at = times[number]!
    if (at < begin || at >= end || at <= decided) return []
    return [single(found, at, tick.reason || movedText(tick.moved), skipped.has(at))]
  })
}

function single(found: Description, at: number, why: string, skips = false): Mark {
  const reasons = [skips ? reasonText('skip_requested') : '', why]
  return { at, kind: skips ? 'skipped' : 'coming', name: skips ? 'To be skipped' : comes(found), why: reasons.filter(Boolean).join(' · '), ticks: 1 }
}

function gathered(from: number, until: number, ticks: number, found: Description): Mark {
  const name = comes(found).toLowerCase()
  return { from, at: until, kind: 'coming', name: `${ticks.toLocaleString('en-GB')} ${name}`, why: '', ticks }
}

function comes(found: Description): string {
  return found.schedule.state === 'paused' ? 'To come, if resumed' : 'To come'
}
