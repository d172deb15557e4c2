import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { useEffect, useMemo } from 'react'
import {
  CALENDAR_RUNS_PER_PAGE,
  descriptionQuery,
  droppedRangesQuery,
  MAX_DROPPED_RANGES,
  runsQuery,
  tickCountsQuery,
} from '../../api/queries'
import type { DroppedRange, Run } from '../../api/types'
import { dstText, type OutcomeKind, outcomeKind, reasonText, statusLabel } from '../../components/outcomes'
import { firstLine } from '../../lib/format'
import { codeText, t } from '../../messages'
import { countBetween, type TickCounts, useUpcomingMarks } from './upcomingMarks'

/** One run, upcoming run or dropped range of one day. */
export interface Mark {
  at: number
  kind: OutcomeKind
  name: string
  reason: string
  /** The number of ticks that it stands for. */
  ticks: number
  /** The first instant, if it stands for several ticks. */
  from?: number
  runId?: string
}

/** The loaded marks of a day, and whether some are missing. */
export interface Day {
  marks: Mark[]
  missing: 'no' | 'part' | 'all'
}

const AUTO_LOAD_PAGES = 2
const SECOND_MS = 1_000

/** Return the marks of some days. `edges` are the start of each day and the end of the last one. */
export function useTimelineMarks(id: string, days: string[], edges: number[], day: string, now: number) {
  const begin = edges[0]!
  const description = useQuery(descriptionQuery(id)).data
  const runs = useInfiniteQuery(runsQuery(id, {}, CALENDAR_RUNS_PER_PAGE))
  const droppedRanges = useQuery(droppedRangesQuery(id)).data
  const countBounds = useMemo(() => droppedBounds(droppedRanges ?? [], edges), [droppedRanges, edges])
  const droppedCounts = useQuery({
    ...tickCountsQuery(id, description, countBounds[0] ?? 0, 1, countBounds),
    enabled: description !== undefined && countBounds.length > 1,
  }).data
  const pastByDay = useMemo(() => {
    const all = (runs.data?.pages ?? []).flatMap((page) => page.items.map(runMark))
    for (const range of droppedRanges ?? []) all.push(...droppedMarks(range, edges, droppedCounts))
    return Map.groupBy(all, (mark) => edges.findIndex((edge, at) => at > 0 && mark.at < edge) - 1)
  }, [runs.data, droppedRanges, droppedCounts, edges])
  const upcomingDays = useUpcomingMarks(id, description, edges, days.indexOf(day), now)

  const { hasNextPage, isFetchingNextPage, fetchNextPage } = runs
  const pages = runs.data?.pages ?? []
  const loadedSince = Math.max(
    hasNextPage ? Date.parse(pages.at(-1)?.items.at(-1)?.run_at ?? '') || 0 : 0,
    droppedRanges && droppedRanges.length >= MAX_DROPPED_RANGES ? Date.parse(droppedRanges.at(-1)!.after) : 0,
  )
  const hasOlder = hasNextPage && loadedSince > begin
  const shouldLoadMore = hasOlder && !isFetchingNextPage && pages.length < AUTO_LOAD_PAGES
  useEffect(() => {
    if (shouldLoadMore) void fetchNextPage()
  }, [shouldLoadMore, fetchNextPage])

  const byDay = new Map<string, Day>()
  days.forEach((date, at) => {
    const upcomingDay = upcomingDays[at]!
    const marks = [...(pastByDay.get(at) ?? []), ...upcomingDay.marks].sort((a, b) => a.at - b.at)
    const missing = upcomingDay.missing !== 'no' || edges[at]! < loadedSince
    const isWhollyMissing = upcomingDay.missing === 'all' || edges[at + 1]! <= loadedSince
    byDay.set(date, { marks, missing: !missing ? 'no' : isWhollyMissing && marks.length === 0 ? 'all' : 'part' })
  })
  return {
    byDay,
    pending: runs.isPending,
    error: runs.error,
    older: hasOlder,
    loadOlder: () => void fetchNextPage(),
    loadingOlder: isFetchingNextPage,
  }
}

function runMark(run: Run): Mark {
  return {
    at: Date.parse(run.run_at),
    kind: outcomeKind(run.status),
    name:
      run.source === 'schedule'
        ? statusLabel(run.status)
        : t('mark.fromSource', { state: statusLabel(run.status), source: codeText('runSource', run.source) }),
    reason: [firstLine(run.error), reasonText(run.reason), dstText(run.dst_adjustment)].filter(Boolean).join(' · '),
    ticks: 1,
    runId: run.run_id,
  }
}

/** Return the first second of a dropped range, and the second after its last. */
const rangeEdges = (range: DroppedRange) =>
  [Date.parse(range.after) + SECOND_MS, Date.parse(range.until) + SECOND_MS] as const

/** Return the bounds between which ticks are counted to split the dropped ranges by day. */
function droppedBounds(droppedRanges: DroppedRange[], edges: number[]): number[] {
  const [begin, end] = [edges[0]!, edges.at(-1)!]
  const bounds = new Set<number>()
  for (const range of droppedRanges) {
    const [from, to] = rangeEdges(range)
    if (range.ticks === 1 || to <= begin || from >= end) continue
    for (const edge of [from, ...edges, to])
      if (edge >= Math.max(from, begin) && edge <= Math.min(to, end)) bounds.add(edge)
  }
  return [...bounds].sort((a, b) => a - b).slice(0, 500)
}

/** Return the marks of a dropped range, one per day. Without counts that match, the ticks are split evenly. */
function droppedMarks(range: DroppedRange, edges: number[], counts: TickCounts | undefined): Mark[] {
  const [from, to] = rangeEdges(range)
  const pieces = edges.slice(0, -1).flatMap((edge, at) => {
    const [first, last] = [Math.max(edge, from), Math.min(edges[at + 1]!, to)]
    return first < last ? [{ first, last, ticks: countBetween(counts, first, last) }] : []
  })
  const sum = pieces.reduce((total, piece) => total + (piece.ticks ?? Number.NaN), 0)
  const isInside = from >= edges[0]! && to <= edges.at(-1)!
  const isExact = isInside ? sum === range.ticks : sum <= range.ticks
  const estimate = (at: number) => Math.round((range.ticks * (at - from)) / (to - from))
  return pieces.flatMap(({ first, last, ticks }) => {
    const count = range.ticks === 1 ? Number(last === to) : isExact ? ticks! : estimate(last) - estimate(first)
    if (count === 0) return []
    const name = range.ticks === 1 ? t('mark.missed') : t('mark.missedCount', { count })
    const all = count < range.ticks ? t('mark.ofTotal', { count: range.ticks }) : ''
    const reason = [reasonText(range.reason), all].filter(Boolean).join(' · ')
    return [
      {
        at: last - SECOND_MS,
        from: count > 1 ? first : undefined,
        kind: 'missed' as const,
        name,
        reason,
        ticks: count,
      },
    ]
  })
}
