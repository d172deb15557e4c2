import { useQuery } from '@tanstack/react-query'
import { useMemo } from 'react'
import { tickCountsQuery } from '../../api/queries'
import type { Preview, ScheduleDescription } from '../../api/types'
import { dstText, reasonText } from '../../components/outcomes'
import { t } from '../../messages'
import type { Day, Mark } from './timelineMarks'

/** The ticks of a spec after an instant, and their number between the bounds. */
export interface TickCounts {
  after: number
  bounds: number[]
  preview: Preview
  /** The time of each tick, in milliseconds. */
  times: number[]
}

const MAX_MONTH_TICKS = 500
const MAX_DAY_TICKS = 240
const SECOND_MS = 1_000
const REFRESH_MS = 300 * SECOND_MS
const EMPTY_DAY: Day = { marks: [], missing: 'no' }
const NOT_LOADED_DAY: Day = { marks: [], missing: 'all' }

/** Return the number of ticks between two bounds, or undefined if it was not counted. */
export function countBetween(counts: TickCounts | undefined, from: number, to: number): number | undefined {
  if (!counts) return undefined
  const [first, last] = [counts.bounds.indexOf(from), counts.bounds.indexOf(to)]
  if (first < 0 || last <= first) return undefined
  let sum = 0
  for (const value of counts.preview.counts.slice(first, last)) {
    if (value === null) return undefined
    sum += value
  }
  return sum
}

/** Return the upcoming marks of some days. The chosen day has one mark per tick. */
export function useUpcomingMarks(
  id: string,
  description: ScheduleDescription | undefined,
  edges: number[],
  chosen: number,
  now: number,
): Day[] {
  const step = Math.floor(Math.max(now, Date.parse(description?.schedule.cursor ?? '') || 0) / REFRESH_MS) * REFRESH_MS
  const after = Math.max(step, edges[0]! - SECOND_MS)
  const bounds = useMemo(() => [after + SECOND_MS, ...edges.filter((edge) => edge > after + SECOND_MS)], [after, edges])
  const isSpecDriven = Boolean(
    description && !description.outlook && ['active', 'paused'].includes(description.schedule.status),
  )
  const monthCounts = useQuery({
    ...tickCountsQuery(id, description, after, MAX_MONTH_TICKS, bounds),
    enabled: isSpecDriven && bounds.length > 1,
  }).data
  const days = edges.slice(0, -1).map((edge, at) => {
    if (!description) return NOT_LOADED_DAY
    if (edges[at + 1]! <= now) return EMPTY_DAY
    return isSpecDriven
      ? specDay(description, monthCounts, edge, edges[at + 1]!, now)
      : adaptiveDay(description, edge, edges[at + 1]!)
  })
  const aggregate = days[chosen]?.marks.find((mark) => mark.from !== undefined)
  const from = Math.max(after, (edges[chosen] ?? 0) - SECOND_MS)
  const dayCounts = useQuery({
    ...tickCountsQuery(id, description, from, MAX_DAY_TICKS, []),
    enabled: aggregate !== undefined,
  }).data
  if (!description || !aggregate || dayCounts?.after !== from) return days
  const dayMarks = singleMarks(description, dayCounts, edges[chosen]!, edges[chosen + 1]!, now)
  const remaining = aggregate.ticks - dayMarks.filter((mark) => mark.kind === 'upcoming').length
  const last = dayMarks.at(-1)
  const marks =
    remaining > 0 && last
      ? [...dayMarks, aggregateMark(last.at + SECOND_MS, edges[chosen + 1]! - SECOND_MS, remaining, description)]
      : dayMarks
  return days.with(chosen, { marks, missing: 'no' })
}

/** Return the known ticks of an adaptive schedule on a day. A closed schedule has none. */
function adaptiveDay(description: ScheduleDescription, begin: number, end: number): Day {
  if (!description.outlook || !['active', 'paused'].includes(description.schedule.status)) return EMPTY_DAY
  const ticks = description.next_ticks.map((at) => Date.parse(at))
  const marks = ticks.filter((at) => at >= begin && at < end).map((at) => singleMark(description, at, ''))
  return { marks, missing: (ticks.at(-1) ?? 0) >= end ? 'no' : marks.length > 0 ? 'part' : 'all' }
}

/** Return the ticks of a spec on a day: one by one if they are loaded, as one mark if they are only counted. */
function specDay(
  description: ScheduleDescription,
  monthCounts: TickCounts | undefined,
  begin: number,
  end: number,
  now: number,
): Day {
  if (!monthCounts) return NOT_LOADED_DAY
  const from = Math.max(begin, monthCounts.after + SECOND_MS)
  const count = countBetween(monthCounts, from, end)
  const loaded = monthCounts.times.filter((at) => at >= from && at < end).length
  const marks = singleMarks(description, monthCounts, from, end, now)
  if (count === undefined) return { marks, missing: marks.length > 0 ? 'part' : 'all' }
  if (count === loaded) return { marks, missing: 'no' }
  const skipped = description.skipped_ticks.map((at) => Date.parse(at)).filter((at) => at >= from && at < end)
  const decidedCount = loaded - marks.length
  const sum = aggregateMark(from, end - SECOND_MS, count - decidedCount - skipped.length, description)
  return { marks: [...skipped.map((at) => singleMark(description, at, '', true)), sum], missing: 'no' }
}

function singleMarks(
  description: ScheduleDescription,
  { preview, times }: TickCounts,
  begin: number,
  end: number,
  now: number,
): Mark[] {
  const decided = description.schedule.status === 'paused' ? now : Date.parse(description.schedule.cursor)
  const skipped = new Set(description.skipped_ticks.map((at) => Date.parse(at)))
  return preview.ticks.flatMap((tick, number) => {
    const at = times[number]!
    if (at < begin || at >= end || at <= decided) return []
    return [singleMark(description, at, tick.reason || dstText(tick.dst_adjustment), skipped.has(at))]
  })
}

function singleMark(description: ScheduleDescription, at: number, reason: string, isSkipped = false): Mark {
  const reasons = [isSkipped ? reasonText('skip_requested') : '', reason]
  return {
    at,
    kind: isSkipped ? 'skipped' : 'upcoming',
    name: isSkipped ? t('mark.willBeSkipped') : t(isPaused(description) ? 'mark.upcomingPaused' : 'mark.upcoming'),
    reason: reasons.filter(Boolean).join(' · '),
    ticks: 1,
  }
}

function aggregateMark(from: number, until: number, ticks: number, description: ScheduleDescription): Mark {
  const name = t(isPaused(description) ? 'mark.upcomingPausedCount' : 'mark.upcomingCount', { count: ticks })
  return { from, at: until, kind: 'upcoming', name, reason: '', ticks }
}

const isPaused = (description: ScheduleDescription): boolean => description.schedule.status === 'paused'
