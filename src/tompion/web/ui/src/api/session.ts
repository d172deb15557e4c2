import { queryOptions, useQuery, type QueryClient } from '@tanstack/react-query'

import { answer, api, currentNamespace } from './client'
import type { Role, Visit } from './types'

export const visitQuery = queryOptions({
  queryKey: ['visit'],
  queryFn: () => answer(api.GET('/api/v1/session')),
  staleTime: 60_000,
})

/** Somebody has come or gone: forget what was read for whoever was there before. */
export function welcome(queries: QueryClient, visit: Visit): void {
  queries.removeQueries({ predicate: ({ queryKey }) => queryKey[0] !== visitQuery.queryKey[0] })
  queries.setQueryData(visitQuery.queryKey, visit)
}

const RANKS: Record<string, number> = { reader: 1, operator: 2, editor: 3, admin: 4 }

/** Whether somebody has a role in the namespace that is shown: enough to look at what it is for. */
export function holds(visit: Visit | undefined, role: Role, namespace: string): boolean {
  if (!visit) return false
  const roles = visit.roles as Record<string, string>
  const held = Math.max(RANKS[roles[namespace || visit.home] ?? ''] ?? 0, RANKS[roles['*'] ?? ''] ?? 0)
  return held >= (RANKS[role] ?? 9)
}

/** Whether somebody may do what needs a role: where nothing is changed, nobody may. */
export function may(visit: Visit | undefined, role: Role, namespace: string): boolean {
  return holds(visit, role, namespace) && (role === 'reader' || !visit?.read_only)
}

/** What a role may not do is not shown at all: ask here whether to show it. */
export function useMay(role: Role): boolean {
  const { data } = useQuery(visitQuery)
  return may(data, role, currentNamespace())
}

export function useHolds(role: Role): boolean {
  const { data } = useQuery(visitQuery)
  return holds(data, role, currentNamespace())
}

/** The service does not know any more who asks: look again, so that the page does not go on as if it did. */
export function checkVisit(queries: QueryClient): void {
  if (queries.getQueryData(visitQuery.queryKey)?.actor) void queries.invalidateQueries({ queryKey: visitQuery.queryKey })
}
