import { infiniteQueryOptions, keepPreviousData, queryOptions } from '@tanstack/react-query'

import { answer, api, currentNamespace } from './client'
import type { ScheduleFilter } from './types'

/** The name under which an answer is kept: its namespace first, then what it is about (see live.ts). */
export function key(...parts: unknown[]): unknown[] {
  return [currentNamespace(), ...parts]
}

const PAGE = 100

export const schedulesQuery = (filter: ScheduleFilter) =>
  infiniteQueryOptions({
    queryKey: key('schedules', filter),
    queryFn: ({ pageParam }) =>
      answer(api.GET('/api/v1/schedules', { params: { query: { ...filter, limit: PAGE, after: pageParam } } })),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (page) => page.next_page ?? undefined,
    placeholderData: keepPreviousData,
  })

export const glancesQuery = (ids: string[]) =>
  queryOptions({
    queryKey: key('glances', ids),
    queryFn: () => answer(api.POST('/api/v1/glances', { body: { schedule_ids: ids } })),
    enabled: ids.length > 0,
    placeholderData: keepPreviousData,
  })

export const describeQuery = (id: string) =>
  queryOptions({
    queryKey: key('schedule', id, 'describe'),
    queryFn: () => answer(api.GET('/api/v1/schedules/{schedule_id}/describe', { params: { path: { schedule_id: id } } })),
  })

export const runsQuery = (id: string, filter: { state?: string; source?: string } = {}, limit = 50) =>
  infiniteQueryOptions({
    queryKey: key('schedule', id, 'runs', filter, limit),
    queryFn: ({ pageParam }) =>
      answer(
        api.GET('/api/v1/schedules/{schedule_id}/runs', {
          params: { path: { schedule_id: id }, query: { ...filter, limit, before: pageParam } },
        }),
      ),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (page) => page.next_page ?? undefined,
    placeholderData: keepPreviousData,
  })

export const recentRunsQuery = (filter: { state?: string } = {}) =>
  infiniteQueryOptions({
    queryKey: key('recent-runs', filter),
    queryFn: ({ pageParam }) =>
      answer(api.GET('/api/v1/runs', { params: { query: { ...filter, limit: 100, before: pageParam } } })),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (page) => page.next_page ?? undefined,
    placeholderData: keepPreviousData,
  })

export const runQuery = (runId: string) =>
  queryOptions({
    queryKey: key('run', runId),
    queryFn: () => answer(api.GET('/api/v1/runs/{run_id}', { params: { path: { run_id: runId } } })),
  })

export const spansQuery = (id: string) =>
  queryOptions({
    queryKey: key('schedule', id, 'spans'),
    queryFn: () =>
      answer(
        api.GET('/api/v1/schedules/{schedule_id}/spans', { params: { path: { schedule_id: id }, query: { limit: 200 } } }),
      ),
  })

export const versionsQuery = (id: string) =>
  queryOptions({
    queryKey: key('schedule', id, 'versions'),
    queryFn: () => answer(api.GET('/api/v1/schedules/{schedule_id}/versions', { params: { path: { schedule_id: id } } })),
  })

export const historyQuery = (id: string) =>
  infiniteQueryOptions({
    queryKey: key('schedule', id, 'history'),
    queryFn: ({ pageParam }) =>
      answer(
        api.GET('/api/v1/schedules/{schedule_id}/history', {
          params: { path: { schedule_id: id }, query: { before: pageParam } },
        }),
      ),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (page) => page.next_page ?? undefined,
  })

export const backfillsQuery = (id: string) =>
  queryOptions({
    queryKey: key('schedule', id, 'backfills'),
    queryFn: () =>
      answer(api.GET('/api/v1/schedules/{schedule_id}/backfills', { params: { path: { schedule_id: id } } })),
    refetchInterval: ({ state }) => (state.data?.some((each) => each.state === 'RUNNING') ? 1_000 : false),
  })

export const comingQuery = (id: string, seconds: number, limit: number) =>
  queryOptions({
    queryKey: key('schedule', id, 'coming', seconds, limit),
    queryFn: () =>
      answer(api.GET('/api/v1/coming', { params: { query: { schedule_id: id, seconds, limit } } })),
  })
