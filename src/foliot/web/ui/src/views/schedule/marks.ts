import { useInfiniteQuery, useQuery } from '@tanstack/react-query'

import { answer, api } from '../../api/client'
import { describeQuery, key, runsQuery, spansQuery } from '../../api/queries'
import { firstLine } from '../../parts/format'
import { kindOf, movedText, reasonText, stateName, type OutcomeKind } from '../../parts/outcomes'

/** One tick, or several that were dropped together: what became of it, or what will. */
export interface Mark {
  at: number
  kind: OutcomeKind
  name: string
  why: string
  /** How many ticks it stands for. */
  ticks: number
  runId?: string
}

const PAGE = 500
const AHEAD = 500

/** Everything that is known of the ticks of a schedule, the earliest first. */
export function useMarks(id: string) {
  const found = useQuery(describeQuery(id)).data
  const runs = useInfiniteQuery(runsQuery(id, {}, PAGE))
  const spans = useQuery(spansQuery(id)).data
  const spec = found?.schedule.definition.spec
  const adaptive = Boolean(found?.outlook)
  const state = found?.schedule.state
  const ahead = useQuery({
    queryKey: key('schedule', id, 'ahead', found?.schedule.version, found?.schedule.cursor),
    queryFn: () => answer(api.POST('/api/v1/preview', { body: { ...spec, schedule_id: id, count: AHEAD } })),
    enabled: spec !== undefined && !adaptive && (state === 'active' || state === 'paused'),
    placeholderData: (before) => before,
  })

  const marks: Mark[] = []
  for (const run of runs.data?.pages.flatMap((page) => page.items) ?? [])
    marks.push({
      at: Date.parse(run.scheduled_for),
      kind: kindOf(run.state),
      name: run.source === 'schedule' ? stateName(run.state) : `${stateName(run.state)} (${run.source})`,
      why: [firstLine(run.error), reasonText(run.reason), movedText(run.moved)].filter(Boolean).join(' · '),
      ticks: 1,
      runId: run.run_id,
    })
  for (const span of spans ?? [])
    marks.push({
      at: Date.parse(span.until),
      kind: 'missed',
      name: span.ticks === 1 ? 'Dropped' : `${span.ticks} dropped`,
      why: reasonText(span.reason),
      ticks: span.ticks,
    })
  marks.push(...coming(found?.skipped_ticks ?? [], adaptive ? (found?.next_ticks ?? []) : undefined, ahead.data?.ticks, state))
  marks.sort((one, other) => one.at - other.at)
  return {
    marks,
    pending: runs.isPending,
    error: runs.error,
    hasOlder: runs.hasNextPage,
    loadOlder: () => void runs.fetchNextPage(),
    loadingOlder: runs.isFetchingNextPage,
    aheadCapped: (ahead.data?.ticks.length ?? 0) === AHEAD,
  }
}

type Tick = { at: string; moved: string; reason: string }

function coming(skipped: string[], known: string[] | undefined, ticks: Tick[] | undefined, state: string | undefined): Mark[] {
  const toSkip = new Set(skipped.map((at) => Date.parse(at)))
  const all = known ? known.map((at) => ({ at, moved: '', reason: '' })) : (ticks ?? [])
  return all.map((tick) => {
    const at = Date.parse(tick.at)
    const skips = toSkip.has(at)
    return {
      at,
      kind: skips ? 'skipped' : 'coming',
      name: skips ? 'To be skipped' : state === 'paused' ? 'To come, if resumed' : 'To come',
      why: [skips ? reasonText('skip_requested') : '', tick.reason || movedText(tick.moved)].filter(Boolean).join(' · '),
      ticks: 1,
    } as Mark
  })
}
