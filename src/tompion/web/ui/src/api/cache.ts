import { type InfiniteData, type QueryClient, useQuery, useQueryClient } from '@tanstack/react-query'
import { useMemo } from 'react'

import { queryKey, summariesQuery } from './queries'
import type { Schedule, SchedulePage, ScheduleSummary } from './types'

/** Return the cached answers of a kind, the newest first. */
function cachedAnswers<T>(queries: QueryClient, kind: string): T[] {
  const queryEntries = queries.getQueryCache().findAll({ queryKey: queryKey(kind) })
  return queryEntries
    .sort((a, b) => b.state.dataUpdatedAt - a.state.dataUpdatedAt)
    .flatMap(({ state }) => (state.data as T | undefined) ?? [])
}

/** Return a schedule from a cached list, to show it at once. Lists have every field but the payload. */
export function useListedSchedule(id: string): Schedule | undefined {
  const queries = useQueryClient()
  return useMemo(() => {
    for (const { pages } of cachedAnswers<InfiniteData<SchedulePage>>(queries, 'schedules'))
      for (const { items } of pages) {
        const schedule = items.find((item) => item.schedule_id === id)
        if (schedule) return schedule
      }
    return undefined
  }, [queries, id])
}

/** Return the summary of a schedule. Until it is loaded, return the one of a cached list. */
export function useScheduleSummary(id: string): ScheduleSummary | undefined {
  const queries = useQueryClient()
  const placeholderData = () => {
    const cached = cachedAnswers<ScheduleSummary>(queries, 'summaries').find((summary) => summary.schedule_id === id)
    return cached && [cached]
  }
  return useQuery({ ...summariesQuery([id]), placeholderData }).data?.[0]
}
