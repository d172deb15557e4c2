import { useQuery, useQueryClient, type InfiniteData, type QueryClient } from '@tanstack/react-query'
import { useMemo } from 'react'

import { glancesQuery, key } from './queries'
import type { Glance, Schedule, SchedulePage } from './types'

/** The answers of a kind that are kept, the newest first. */
function kept<T>(queries: QueryClient, kind: string): T[] {
  const found = queries.getQueryCache().findAll({ queryKey: key(kind) })
  return found.sort((one, other) => other.state.dataUpdatedAt - one.state.dataUpdatedAt).flatMap(({ state }) => (state.data as T | undefined) ?? [])
}

/** A schedule as a list has shown it, to begin with: lists know everything of it but its payload. */
export function useListed(id: string): Schedule | undefined {
  const queries = useQueryClient()
  return useMemo(() => {
    for (const { pages } of kept<InfiniteData<SchedulePage>>(queries, 'schedules'))
      for (const { items } of pages) {
        const found = items.find((each) => each.schedule_id === id)
        if (found) return found
      }
    return undefined
  }, [queries, id])
}

/** A schedule at a glance; until that is read, as a list has shown it. */
export function useGlance(id: string): Glance | undefined {
  const queries = useQueryClient()
  const placeholderData = () => {
    const found = kept<Glance>(queries, 'glances').find((each) => each.schedule_id === id)
    return found && [found]
  }
  return useQuery({ ...glancesQuery([id]), placeholderData }).data?.[0]
}
