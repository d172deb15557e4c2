import { queryOptions, useQuery, type QueryClient } from '@tanstack/react-query'

import { unwrap, api, currentNamespace } from './client'
import type { Role, Session } from './types'

export const sessionQuery = queryOptions({
  queryKey: ['visit'],
  queryFn: () => unwrap(api.GET('/api/v1/session')),
  staleTime: 60_000,
})

/** Somebody has come or gone: forget what was read for whoever was there before. */
export function replaceSession(queries: QueryClient, session: Session): void {
  queries.removeQueries({ predicate: ({ queryKey }) => queryKey[0] !== sessionQuery.queryKey[0] })
  queries.setQueryData(sessionQuery.queryKey, session)
}

const RANKS: Record<string, number> = { reader: 1, operator: 2, editor: 3, admin: 4 }

/** Whether somebody has a role in the namespace that is shown: enough to look at what it is for. */
export function hasRole(session: Session | undefined, role: Role, namespace: string): boolean {
  if (!session) return false
  const roles = session.roles as Record<string, string>
  const rank = Math.max(RANKS[roles[namespace || session.home] ?? ''] ?? 0, RANKS[roles['*'] ?? ''] ?? 0)
  return rank >= (RANKS[role] ?? 9)
}

/** Whether somebody may do what needs a role: where nothing is changed, nobody may. */
export function isAllowed(session: Session | undefined, role: Role, namespace: string): boolean {
  return hasRole(session, role, namespace) && (role === 'reader' || !session?.read_only)
}

/** What a role may not do is not shown at all: ask here whether to show it. */
export function useIsAllowed(role: Role): boolean {
  const { data } = useQuery(sessionQuery)
  return isAllowed(data, role, currentNamespace())
}

export function useHasRole(role: Role): boolean {
  const { data } = useQuery(sessionQuery)
  return hasRole(data, role, currentNamespace())
}

/** The service does not know any more who asks: look again, so that the page does not go on as if it did. */
export function revalidateSession(queries: QueryClient): void {
  if (queries.getQueryData(sessionQuery.queryKey)?.actor) void queries.invalidateQueries({ queryKey: sessionQuery.queryKey })
}
