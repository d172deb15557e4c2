import { type QueryClient, queryOptions, useQuery } from '@tanstack/react-query'

import { api, currentNamespace, unwrap } from './client'
import type { Role, Session } from './types'

export const sessionQuery = queryOptions({
  queryKey: ['session'],
  queryFn: () => unwrap(api.GET('/api/v1/session')),
  staleTime: 60_000,
})

/** Set the session after a sign-in or sign-out, and drop the answers for the previous user. */
export function replaceSession(queries: QueryClient, session: Session): void {
  queries.removeQueries({ predicate: ({ queryKey }) => queryKey[0] !== sessionQuery.queryKey[0] })
  queries.setQueryData(sessionQuery.queryKey, session)
}

const RANKS: Record<string, number> = { reader: 1, operator: 2, editor: 3, admin: 4 }

/** Return whether the session has a role in the current namespace. */
export function hasRole(session: Session | undefined, role: Role, namespace: string): boolean {
  if (!session) return false
  const roles = session.roles as Record<string, string>
  const rank = Math.max(RANKS[roles[namespace || session.home] ?? ''] ?? 0, RANKS[roles['*'] ?? ''] ?? 0)
  return rank >= (RANKS[role] ?? 9)
}

/** Return whether the session may perform an action that needs a role. In read-only mode only reading is allowed. */
export function isAllowed(session: Session | undefined, role: Role, namespace: string): boolean {
  return hasRole(session, role, namespace) && (role === 'reader' || !session?.read_only)
}

/** Return whether to show an action: actions without permission are hidden. */
export function useIsAllowed(role: Role): boolean {
  const { data } = useQuery(sessionQuery)
  return isAllowed(data, role, currentNamespace())
}

export function useHasRole(role: Role): boolean {
  const { data } = useQuery(sessionQuery)
  return hasRole(data, role, currentNamespace())
}

/** Refetch the session after an answer 401: it may have expired. */
export function revalidateSession(queries: QueryClient): void {
  if (queries.getQueryData(sessionQuery.queryKey)?.actor)
    void queries.invalidateQueries({ queryKey: sessionQuery.queryKey })
}
