import { infiniteQueryOptions, keepPreviousData, queryOptions } from '@tanstack/react-query'

import { unwrap, api, currentNamespace } from './client'
import { FORECAST_PARAMS, SCHEDULES_PER_PAGE } from './limits'
import type { ScheduleFilter } from './types'

/** The name under which an answer is kept: its namespace first, then what it is about (see live.ts). */
export function queryKey(...parts: unknown[]): unknown[] {
  return [currentNamespace(), ...parts]
}

export const CALENDAR_RUNS_PER_PAGE = 500

export const schedulesQuery = (filter: ScheduleFilter) =>
  infiniteQueryOptions({
    queryKey: queryKey('schedules', filter),
    queryFn: ({ pageParam }) =>
      unwrap(api.GET('/api/v1/schedules', { params: { query: { ...filter, limit: SCHEDULES_PER_PAGE, after: pageParam } } })),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (page) => page.next_page ?? undefined,
    placeholderData: keepPreviousData,
  })

/** How many the list has, and of how many. */
export const scheduleCountQuery = (filter: ScheduleFilter) =>
  queryOptions({
    queryKey: queryKey('count', filter),
    queryFn: () => unwrap(api.GET('/api/v1/counts', { params: { query: { ...filter } } })),
    staleTime: 5_000,
    placeholderData: keepPreviousData,
  })

export const summariesQuery = (ids: string[]) =>
  queryOptions({
    queryKey: queryKey('glances', ids),
    queryFn: () => unwrap(api.POST('/api/v1/glances', { body: { schedule_ids: ids } })),
    enabled: ids.length > 0,
    placeholderData: keepPreviousData,
  })

export const descriptionQuery = (id: string) =>
  queryOptions({
    queryKey: queryKey('schedule', id, 'describe'),
    queryFn: () => unwrap(api.GET('/api/v1/schedules/{schedule_id}/describe', { params: { path: { schedule_id: id } } })),
  })

export const runsQuery = (id: string, filter: { state?: string; source?: string } = {}, limit = 50) =>
  infiniteQueryOptions({
    queryKey: queryKey('schedule', id, 'runs', filter, limit),
    queryFn: ({ pageParam }) =>
      unwrap(
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
    queryKey: queryKey('recent-runs', filter),
    queryFn: ({ pageParam }) =>
      unwrap(api.GET('/api/v1/runs', { params: { query: { ...filter, limit: 100, before: pageParam } } })),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (page) => page.next_page ?? undefined,
    placeholderData: keepPreviousData,
  })

export const runQuery = (runId: string) =>
  queryOptions({
    queryKey: queryKey('run', runId),
    queryFn: () => unwrap(api.GET('/api/v1/runs/{run_id}', { params: { path: { run_id: runId } } })),
  })

export const MAX_DROPPED_RANGES = 200

export const droppedRangesQuery = (id: string) =>
  queryOptions({
    queryKey: queryKey('schedule', id, 'spans'),
    queryFn: () =>
      unwrap(
        api.GET('/api/v1/schedules/{schedule_id}/spans', { params: { path: { schedule_id: id }, query: { limit: MAX_DROPPED_RANGES } } }),
      ),
  })

export const versionsQuery = (id: string) =>
  queryOptions({
    queryKey: queryKey('schedule', id, 'versions'),
    queryFn: () => unwrap(api.GET('/api/v1/schedules/{schedule_id}/versions', { params: { path: { schedule_id: id } } })),
  })

export const historyQuery = (id: string) =>
  infiniteQueryOptions({
    queryKey: queryKey('schedule', id, 'history'),
    queryFn: ({ pageParam }) =>
      unwrap(
        api.GET('/api/v1/schedules/{schedule_id}/history', {
          params: { path: { schedule_id: id }, query: { before: pageParam } },
        }),
      ),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (page) => page.next_page ?? undefined,
  })

export const backfillsQuery = (id: string) =>
  queryOptions({
    queryKey: queryKey('schedule', id, 'backfills'),
    queryFn: () =>
      unwrap(api.GET('/api/v1/schedules/{schedule_id}/backfills', { params: { path: { schedule_id: id } } })),
    refetchInterval: ({ state }) => (state.data?.some((backfill) => backfill.state === 'RUNNING') ? 1_000 : false),
  })

export const scheduleUpcomingQuery = (id: string, seconds: number, limit: number) =>
  queryOptions({
    queryKey: queryKey('schedule', id, 'coming', seconds, limit),
    queryFn: () =>
      unwrap(api.GET('/api/v1/coming', { params: { query: { schedule_id: id, seconds, limit } } })),
  })

export const statsQuery = (seconds: number, buckets: number) =>
  queryOptions({
    queryKey: queryKey('stats', seconds, buckets),
    queryFn: () => unwrap(api.GET('/api/v1/stats', { params: { query: { seconds, stretches: buckets } } })),
    staleTime: 10_000,
    refetchInterval: 30_000,
    placeholderData: keepPreviousData,
  })

export const forecastQuery = () =>
  queryOptions({
    queryKey: queryKey('forecast'),
    queryFn: () => unwrap(api.GET('/api/v1/forecast', { params: { query: FORECAST_PARAMS } })),
    staleTime: 60_000,
    refetchInterval: 60_000,
    placeholderData: keepPreviousData,
  })

export const upcomingQuery = (seconds: number, limit: number) =>
  queryOptions({
    queryKey: queryKey('coming', seconds, limit),
    queryFn: () => unwrap(api.GET('/api/v1/coming', { params: { query: { seconds, limit } } })),
    staleTime: 10_000,
    refetchInterval: 30_000,
    placeholderData: keepPreviousData,
  })

export const problemsQuery = () =>
  queryOptions({
    queryKey: queryKey('attention'),
    queryFn: () => unwrap(api.GET('/api/v1/attention', { params: { query: { limit: 50 } } })),
    staleTime: 10_000,
    refetchInterval: 30_000,
  })

/** The names of instances that fire nothing, because their clocks are too far off. */
export const skewedInstancesQuery = () =>
  queryOptions({
    ...problemsQuery(),
    select: ({ concerns: problems }) => new Set(problems.filter(({ kind }) => kind === 'skewed_clock').map(({ subject }) => subject)),
  })

export const instancesQuery = () =>
  queryOptions({
    queryKey: queryKey('instances'),
    queryFn: () => unwrap(api.GET('/api/v1/instances')),
    staleTime: 10_000,
    refetchInterval: 15_000,
  })

export const queuesQuery = () =>
  queryOptions({
    queryKey: queryKey('queues'),
    queryFn: () => unwrap(api.GET('/api/v1/queues')),
    refetchInterval: 15_000,
  })

export const scheduleQuery = (id: string) =>
  queryOptions({
    queryKey: queryKey('definition', id),
    queryFn: () => unwrap(api.GET('/api/v1/schedules/{schedule_id}', { params: { path: { schedule_id: id } } })),
    staleTime: 0,
    refetchOnWindowFocus: false,
  })

export const workflowsQuery = () =>
  infiniteQueryOptions({
    queryKey: queryKey('workflows'),
    queryFn: ({ pageParam }) => unwrap(api.GET('/api/v1/workflows', { params: { query: { limit: 100, after: pageParam } } })),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (page) => page.next_page ?? undefined,
  })

export const workflowQuery = (id: string, version?: number) =>
  queryOptions({
    queryKey: queryKey('workflows', id, version),
    queryFn: () =>
      unwrap(api.GET('/api/v1/workflows/{workflow_id}', { params: { path: { workflow_id: id }, query: { version } } })),
    placeholderData: keepPreviousData,
  })

export const calendarsQuery = () =>
  infiniteQueryOptions({
    queryKey: queryKey('calendars'),
    queryFn: ({ pageParam }) => unwrap(api.GET('/api/v1/calendars', { params: { query: { limit: 100, after: pageParam } } })),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (page) => page.next_page ?? undefined,
  })

export const keysQuery = () =>
  infiniteQueryOptions({
    queryKey: queryKey('keys'),
    queryFn: ({ pageParam }) => unwrap(api.GET('/api/v1/keys', { params: { query: { limit: 100, after: pageParam } } })),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (page) => page.next_page ?? undefined,
  })

export const auditLogQuery = () =>
  infiniteQueryOptions({
    queryKey: queryKey('audit'),
    queryFn: ({ pageParam }) => unwrap(api.GET('/api/v1/audit', { params: { query: { everything: true, limit: 50, before: pageParam } } })),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (page) => page.next_page ?? undefined,
  })

export const configQuery = () =>
  queryOptions({
    queryKey: queryKey('config'),
    queryFn: () => unwrap(api.GET('/api/v1/config')),
    staleTime: 300_000,
  })
