import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { useEffect, useMemo } from 'react'

import { describeQuery, MOST_SPANS, RUNS_OF_A_CALENDAR, runsQuery, spansQuery } from '../../api/queries'
import type { Run, Span } from '../../api/types'
import { countText, firstLine } from '../../lib/format'
import { kindOf, movedText, reasonText, stateName, type OutcomeKind } from '../../components/outcomes'
import { between, countQuery, useAhead, type Counted } from './upcomingMarks'

/** One tick, or several of one day: what became of them, or what will. */
export interface Mark {
  at: number
  kind: OutcomeKind
  name: string
  why: string
  /** How many ticks it stands for. */
  ticks: number
  /** Where it stands for several: since when. */
  from?: number
  runId?: string
}

/** What is known of a day, and whether that is all of it. */
export interface Day {
  marks: Mark[]
  unread: 'no' | 'part' | 'all'
}

const READ_AT_ONCE = 2
const SECOND = 1_000

/** Everything that is known of the ticks of some days; edges are when each begins, and when the last one ends. */
export function useMarks(id: string, days: string[], edges: number[], day: string, now: number) {
  const begin = edges[0]!
  const found = useQuery(describeQuery(id)).data
  const runs = useInfiniteQuery(runsQuery(id, {}, RUNS_OF_A_CALENDAR))
  const spans = useQuery(spansQuery(id)).data
  const bounds = useMemo(() => spanBounds(spans ?? [], edges), [spans, edges])
  const dropped = useQuery({ ...countQuery(id, found, bounds[0] ?? 0, 1, bounds), enabled: found !== undefined && bounds.length > 1 }).data
  const past = useMemo(() => {
    const all = (runs.data?.pages ?? []).flatMap((page) => page.items.map(ofRun))
    for (const span of spans ?? []) all.push(...ofSpan(span, edges, dropped))
    return Map.groupBy(all, (mark) => edges.findIndex((edge, at) => at > 0 && mark.at < edge) - 1)
  }, [runs.data, spans, dropped, edges])
  const ahead = useAhead(id, found, edges, days.indexOf(day), now)

  const { hasNextPage, isFetchingNextPage, fetchNextPage } = runs
  const pages = runs.data?.pages ?? []
  const readSince = Math.max(
    hasNextPage ? Date.parse(pages.at(-1)?.items.at(-1)?.scheduled_for ?? '') || 0 : 0,
    spans && spans.length >= MOST_SPANS ? Date.parse(spans.at(-1)!.after) : 0,
  )
  const older = hasNextPage && readSince > begin
  const wanting = older && !isFetchingNextPage && pages.length < READ_AT_ONCE
  useEffect(() => {
    if (wanting) void fetchNextPage()
  }, [wanting, fetchNextPage])

  const byDay = new Map<string, Day>()
  days.forEach((each, at) => {
    const coming = ahead[at]!
    const marks = [...(past.get(at) ?? []), ...coming.marks].sort((one, other) => one.at - other.at)
    const unread = coming.unread !== 'no' || edges[at]! < readSince
    const whole = coming.unread === 'all' || edges[at + 1]! <= readSince
    byDay.set(each, { marks, unread: !unread ? 'no' : whole && marks.length === 0 ? 'all' : 'part' })
  })
  return { byDay, pending: runs.isPending, error: runs.error, older, loadOlder: () => void fetchNextPage(), loadingOlder: isFetchingNextPage }
}

function ofRun(run: Run): Mark {
  return {
    at: Date.parse(run.scheduled_for),
    kind: kindOf(run.state),
    name: run.source === 'schedule' ? stateName(run.state) : `${stateName(run.state)} (${run.source})`,
    why: [firstLine(run.error), reasonText(run.reason), movedText(run.moved)].filter(Boolean).join(' · '),
    ticks: 1,
    runId: run.run_id,
  }
}

/** The first second of a span, and that after its last. */
const sidesOf = (span: Span) => [Date.parse(span.after) + SECOND, Date.parse(span.until) + SECOND] as const

/** Between which instants ticks have to be counted to know how many of each span fall on each day. */
function spanBounds(spans: Span[], edges: number[]): number[] {
  const [begin, end] = [edges[0]!, edges.at(-1)!]
  const found = new Set<number>()
  for (const span of spans) {
    const [from, to] = sidesOf(span)
    if (span.ticks === 1 || to <= begin || from >= end) continue
    for (const edge of [from, ...edges, to]) if (edge >= Math.max(from, begin) && edge <= Math.min(to, end)) found.add(edge)
  }
  return [...found].sort((one, other) => one - other).slice(0, 500)
}

/** What was dropped together, on each of its days: as the spec has it, or in equal shares if that is no longer so. */
function ofSpan(span: Span, edges: number[], counted: Counted | undefined): Mark[] {
  const [from, to] = sidesOf(span)
  const pieces = edges.slice(0, -1).flatMap((edge, at) => {
    const [first, last] = [Math.max(edge, from), Math.min(edges[at + 1]!, to)]
    return first < last ? [{ first, last, ticks: between(counted, first, last) }] : []
  })
  const sum = pieces.reduce((total, each) => total + (each.ticks ?? Number.NaN), 0)
  const inside = from >= edges[0]! && to <= edges.at(-1)!
  const exact = inside ? sum === span.ticks : sum <= span.ticks
  const share = (at: number) => Math.round((span.ticks * (at - from)) / (to - from))
  return pieces.flatMap(({ first, last, ticks }) => {
    const count = span.ticks === 1 ? Number(last === to) : exact ? ticks! : share(last) - share(first)
    if (count === 0) return []
    const name = span.ticks === 1 ? 'Dropped' : `${count.toLocaleString('en-GB')} dropped`
    const all = count < span.ticks ? `of ${countText(span.ticks, 'tick')} in all` : ''
    const why = [reasonText(span.reason), all].filter(Boolean).join(' · ')
    return [{ at: last - SECOND, from: count > 1 ? first : undefined, kind: 'missed' as const, name, why, ticks: count }]
  })
}
