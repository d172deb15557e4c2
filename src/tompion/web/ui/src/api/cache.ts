import { useQuery, useQueryClient, type InfiniteData, type QueryClient } from '@tanstack/react-query'
import { useMemo } from 'react'

import { summariesQuery, queryKey } from './queries'
import type { ScheduleSummary, Schedule, SchedulePage } from './types'

/** The answers of a kind that are kept, the newest first. */
function cachedAnswers<T>(queries: QueryClient, kind: string): T[] {
  const queryEntries = queries.getQueryCache().findAll({ queryKey: queryKey(kind) })
  return queryEntries.sort((a, b) => b.state.dataUpdatedAt - a.state.dataUpdatedAt).flatMap(({ state }) => (state.data as T | undefined) ?? [])
}

/** A schedule as a list has shown it, to begin with: lists know everything of it but its payload. */
export function useListedSchedule(id: string): Schedule | undefined {
  const queries = useQueryClient()
  return useMemo(() => {
    for (const { pages } of cachedAnswers<InfiniteData<SchedulePage>>(queries, 'schedules'))
      for (const { items } of pages) {
        const found = items.find((schedule) => schedule.schedule_id === id)
        if (found) return found
      }
    return undefined
  }, [queries, id])
}

/** A schedule at a glance; until that is read, as a list has shown it. */
export function useScheduleSummary(id: string): ScheduleSummary | undefined {
  const queries = useQueryClient()
  const placeholderData = () => {
    const found = cachedAnswers<ScheduleSummary>(queries, 'glances').find((summary) => summary.schedule_id === id)
    return found && [found]
  }
  return useQuery({ ...summariesQuery([id]), placeholderData }).data?.[0]
}
