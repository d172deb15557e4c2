import { infiniteQueryOptions, keepPreviousData, queryOptions } from '@tanstack/react-query'

import { answer, api, currentNamespace } from './client'
import { FORECAST, LIST_PAGE } from './limits'
import type { ScheduleFilter } from './types'

/** The name under which an answer is kept: its namespace first, then what it is about (see live.ts). */
export function key(...parts: unknown[]): unknown[] {
  return [currentNamespace(), ...parts]
}

export const RUNS_OF_A_CALENDAR = 500

export const schedulesQuery = (filter: ScheduleFilter) =>
  infiniteQueryOptions({
    queryKey: key('schedules', filter),
    queryFn: ({ pageParam }) =>
      answer(api.GET('/api/v1/schedules', { params: { query: { ...filter, limit: LIST_PAGE, after: pageParam } } })),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (page) => page.next_page ?? undefined,
    placeholderData: keepPreviousData,
  })

/** How many the list has, and of how many. */
export const countQuery = (filter: ScheduleFilter) =>
  queryOptions({
    queryKey: key('count', filter),
    queryFn: () => answer(api.GET('/api/v1/counts', { params: { query: { ...filter } } })),
    staleTime: 5_000,
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

export const MOST_SPANS = 200

export const spansQuery = (id: string) =>
  queryOptions({
    queryKey: key('schedule', id, 'spans'),
    queryFn: () =>
      answer(
        api.GET('/api/v1/schedules/{schedule_id}/spans', { params: { path: { schedule_id: id }, query: { limit: MOST_SPANS } } }),
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

export const statsQuery = (seconds: number, stretches: number) =>
  queryOptions({
    queryKey: key('stats', seconds, stretches),
    queryFn: () => answer(api.GET('/api/v1/stats', { params: { query: { seconds, stretches } } })),
    staleTime: 10_000,
    refetchInterval: 30_000,
    placeholderData: keepPreviousData,
  })

export const forecastQuery = () =>
  queryOptions({
    queryKey: key('forecast'),
    queryFn: () => answer(api.GET('/api/v1/forecast', { params: { query: FORECAST } })),
    staleTime: 60_000,
    refetchInterval: 60_000,
    placeholderData: keepPreviousData,
  })

export const allComingQuery = (seconds: number, limit: number) =>
  queryOptions({
    queryKey: key('coming', seconds, limit),
    queryFn: () => answer(api.GET('/api/v1/coming', { params: { query: { seconds, limit } } })),
    staleTime: 10_000,
    refetchInterval: 30_000,
    placeholderData: keepPreviousData,
  })

export const attentionQuery = () =>
  queryOptions({
    queryKey: key('attention'),
    queryFn: () => answer(api.GET('/api/v1/attention', { params: { query: { limit: 50 } } })),
    staleTime: 10_000,
    refetchInterval: 30_000,
  })

/** The names of instances that fire nothing, because their clocks are too far off. */
export const skewedQuery = () =>
  queryOptions({
    ...attentionQuery(),
    select: ({ concerns }) => new Set(concerns.filter(({ kind }) => kind === 'skewed_clock').map(({ subject }) => subject)),
  })

export const instancesQuery = () =>
  queryOptions({
    queryKey: key('instances'),
    queryFn: () => answer(api.GET('/api/v1/instances')),
    staleTime: 10_000,
    refetchInterval: 15_000,
  })

export const queuesQuery = () =>
  queryOptions({
    queryKey: key('queues'),
    queryFn: () => answer(api.GET('/api/v1/queues')),
    refetchInterval: 15_000,
  })

export const scheduleQuery = (id: string) =>
  queryOptions({
    queryKey: key('definition', id),
    queryFn: () => answer(api.GET('/api/v1/schedules/{schedule_id}', { params: { path: { schedule_id: id } } })),
    staleTime: 0,
    refetchOnWindowFocus: false,
  })

export const workflowsQuery = () =>
  infiniteQueryOptions({
    queryKey: key('workflows'),
    queryFn: ({ pageParam }) => answer(api.GET('/api/v1/workflows', { params: { query: { limit: 100, after: pageParam } } })),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (page) => page.next_page ?? undefined,
  })

export const workflowQuery = (id: string, version?: number) =>
  queryOptions({
    queryKey: key('workflows', id, version),
    queryFn: () =>
      answer(api.GET('/api/v1/workflows/{workflow_id}', { params: { path: { workflow_id: id }, query: { version } } })),
    placeholderData: keepPreviousData,
  })

export const calendarsQuery = () =>
  infiniteQueryOptions({
    queryKey: key('calendars'),
    queryFn: ({ pageParam }) => answer(api.GET('/api/v1/calendars', { params: { query: { limit: 100, after: pageParam } } })),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (page) => page.next_page ?? undefined,
  })

export const keysQuery = () =>
  infiniteQueryOptions({
    queryKey: key('keys'),
    queryFn: ({ pageParam }) => answer(api.GET('/api/v1/keys', { params: { query: { limit: 100, after: pageParam } } })),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (page) => page.next_page ?? undefined,
  })

export const auditQuery = () =>
  infiniteQueryOptions({
    queryKey: key('audit'),
    queryFn: ({ pageParam }) => answer(api.GET('/api/v1/audit', { params: { query: { everything: true, limit: 50, before: pageParam } } })),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (page) => page.next_page ?? undefined,
  })

export const configQuery = () =>
  queryOptions({
    queryKey: key('config'),
    queryFn: () => answer(api.GET('/api/v1/config')),
    staleTime: 300_000,
  })
