import { infiniteQueryOptions, keepPreviousData, queryOptions } from '@tanstack/react-query'

import { api, currentNamespace, unwrap } from './client'
import { FORECAST_PARAMS, MAX_PROBLEMS, SCHEDULES_PER_PAGE } from './limits'
import { specFields } from './spec'
import type { Schedule, ScheduleDescription, ScheduleFilter } from './types'

/** Return the cache key of an answer: its namespace, then its kind. live.ts refetches by these kinds. */
export function queryKey(...parts: unknown[]): unknown[] {
  return [currentNamespace(), ...parts]
}

export const CALENDAR_RUNS_PER_PAGE = 500
export const MAX_DROPPED_RANGES = 200
const ITEMS_PER_PAGE = 100
const MAX_SEARCH_RESULTS = 8
const MAX_RECENT_CHANGES = 200
const SECOND_MS = 1_000

/** Options of a list that is loaded page by page. Each page names the next one. */
function paged<Page extends { next_page?: string | null }>(
  key: unknown[],
  load: (cursor: string | undefined) => Promise<Page>,
  { keepPrevious = false } = {},
) {
  return infiniteQueryOptions({
    queryKey: key,
    queryFn: ({ pageParam }) => load(pageParam),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (page) => page.next_page ?? undefined,
    ...(keepPrevious ? { placeholderData: keepPreviousData } : {}),
  })
}

export const schedulesQuery = (filter: ScheduleFilter) =>
  paged(
    queryKey('schedules', filter),
    (after) =>
      unwrap(api.GET('/api/v1/schedules', { params: { query: { ...filter, limit: SCHEDULES_PER_PAGE, after } } })),
    { keepPrevious: true },
  )

/** The number of schedules that match a filter, and of all schedules. */
export const scheduleCountQuery = (filter: ScheduleFilter) =>
  queryOptions({
    queryKey: queryKey('count', filter),
    queryFn: () => unwrap(api.GET('/api/v1/schedules:count', { params: { query: { ...filter } } })),
    staleTime: 5_000,
    placeholderData: keepPreviousData,
  })

/** The few schedules that the command palette offers for a text. */
export const scheduleSearchQuery = (text: string) =>
  queryOptions({
    queryKey: queryKey('palette', text),
    queryFn: () => unwrap(api.GET('/api/v1/schedules', { params: { query: { text, limit: MAX_SEARCH_RESULTS } } })),
    enabled: text.length > 0,
  })

export const summariesQuery = (ids: string[]) =>
  queryOptions({
    queryKey: queryKey('summaries', ids),
    queryFn: () => unwrap(api.POST('/api/v1/schedules:summaries', { body: { schedule_ids: ids } })),
    enabled: ids.length > 0,
    placeholderData: keepPreviousData,
  })

export const descriptionQuery = (id: string) =>
  queryOptions({
    queryKey: queryKey('schedule', id, 'describe'),
    queryFn: () =>
      unwrap(api.GET('/api/v1/schedules/{schedule_id}/describe', { params: { path: { schedule_id: id } } })),
  })

export const scheduleQuery = (id: string) =>
  queryOptions({
    queryKey: queryKey('definition', id),
    queryFn: () => unwrap(api.GET('/api/v1/schedules/{schedule_id}', { params: { path: { schedule_id: id } } })),
    staleTime: 0,
    refetchOnWindowFocus: false,
  })

export const runsQuery = (id: string, filter: { status?: string; source?: string } = {}, limit = 50) =>
  paged(
    queryKey('schedule', id, 'runs', filter, limit),
    (before) =>
      unwrap(
        api.GET('/api/v1/schedules/{schedule_id}/runs', {
          params: { path: { schedule_id: id }, query: { ...filter, limit, before } },
        }),
      ),
    { keepPrevious: true },
  )

export const recentRunsQuery = (filter: { status?: string } = {}) =>
  paged(
    queryKey('recent-runs', filter),
    (before) => unwrap(api.GET('/api/v1/runs', { params: { query: { ...filter, limit: ITEMS_PER_PAGE, before } } })),
    { keepPrevious: true },
  )

export const runQuery = (runId: string) =>
  queryOptions({
    queryKey: queryKey('run', runId),
    queryFn: () => unwrap(api.GET('/api/v1/runs/{run_id}', { params: { path: { run_id: runId } } })),
  })

/** Ticks that were dropped together, each range with its reason. */
export const droppedRangesQuery = (id: string) =>
  queryOptions({
    queryKey: queryKey('schedule', id, 'dropped'),
    queryFn: () =>
      unwrap(
        api.GET('/api/v1/schedules/{schedule_id}/dropped', {
          params: { path: { schedule_id: id }, query: { limit: MAX_DROPPED_RANGES } },
        }),
      ),
  })

export const versionsQuery = (id: string) =>
  queryOptions({
    queryKey: queryKey('schedule', id, 'versions'),
    queryFn: () =>
      unwrap(api.GET('/api/v1/schedules/{schedule_id}/versions', { params: { path: { schedule_id: id } } })),
  })

export const historyQuery = (id: string) =>
  paged(queryKey('schedule', id, 'history'), (before) =>
    unwrap(
      api.GET('/api/v1/schedules/{schedule_id}/history', { params: { path: { schedule_id: id }, query: { before } } }),
    ),
  )

export const backfillsQuery = (id: string) =>
  queryOptions({
    queryKey: queryKey('schedule', id, 'backfills'),
    queryFn: () =>
      unwrap(api.GET('/api/v1/schedules/{schedule_id}/backfills', { params: { path: { schedule_id: id } } })),
    refetchInterval: ({ state }) => (state.data?.some((backfill) => backfill.status === 'RUNNING') ? 1_000 : false),
  })

export const statsQuery = (seconds: number, buckets: number) =>
  queryOptions({
    queryKey: queryKey('stats', seconds, buckets),
    queryFn: () => unwrap(api.GET('/api/v1/stats', { params: { query: { seconds, buckets } } })),
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
    queryKey: queryKey('upcoming', seconds, limit),
    queryFn: () => unwrap(api.GET('/api/v1/upcoming', { params: { query: { seconds, limit } } })),
    staleTime: 10_000,
    refetchInterval: 30_000,
    placeholderData: keepPreviousData,
  })

export const problemsQuery = () =>
  queryOptions({
    queryKey: queryKey('problems'),
    queryFn: () => unwrap(api.GET('/api/v1/problems', { params: { query: { limit: MAX_PROBLEMS } } })),
    staleTime: 10_000,
    refetchInterval: 30_000,
  })

/** The names of instances that fire nothing, because their clocks are too far off. */
export const skewedInstancesQuery = () =>
  queryOptions({
    ...problemsQuery(),
    select: ({ problems }) =>
      new Set(problems.filter(({ kind }) => kind === 'skewed_clock').map(({ subject }) => subject)),
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

export const workflowsQuery = () =>
  paged(queryKey('workflows'), (after) =>
    unwrap(api.GET('/api/v1/workflows', { params: { query: { limit: ITEMS_PER_PAGE, after } } })),
  )

export const workflowQuery = (id: string, version?: number) =>
  queryOptions({
    queryKey: queryKey('workflows', id, version),
    queryFn: () =>
      unwrap(api.GET('/api/v1/workflows/{workflow_id}', { params: { path: { workflow_id: id }, query: { version } } })),
    placeholderData: keepPreviousData,
  })

export const calendarsQuery = () =>
  paged(queryKey('calendars'), (after) =>
    unwrap(api.GET('/api/v1/calendars', { params: { query: { limit: ITEMS_PER_PAGE, after } } })),
  )

export const keysQuery = () =>
  paged(queryKey('keys'), (after) =>
    unwrap(api.GET('/api/v1/keys', { params: { query: { limit: ITEMS_PER_PAGE, after } } })),
  )

export const auditLogQuery = () =>
  paged(queryKey('audit'), (before) =>
    unwrap(api.GET('/api/v1/audit', { params: { query: { everything: true, limit: 50, before } } })),
  )

/** The newest changes. They name who paused a workflow or a queue, which those resources do not. */
export const recentChangesQuery = () =>
  queryOptions({
    queryKey: queryKey('audit', 'pauses'),
    queryFn: () =>
      unwrap(api.GET('/api/v1/audit', { params: { query: { everything: true, limit: MAX_RECENT_CHANGES } } })),
  })

export const configQuery = () =>
  queryOptions({
    queryKey: queryKey('config'),
    queryFn: () => unwrap(api.GET('/api/v1/config')),
    staleTime: 300_000,
  })

type Fields = Record<string, unknown>

/** The next ticks of a spec, in words and as times. */
export const previewQuery = (spec: Fields, count: number, id?: string) =>
  queryOptions({
    queryKey: queryKey('preview', spec, count, id),
    queryFn: () =>
      unwrap(api.POST('/api/v1/preview', { body: { ...spec, count, ...(id ? { schedule_id: id } : {}) } as never })),
    placeholderData: keepPreviousData,
    staleTime: 30_000,
    retry: false,
  })

/** The next tick of a schedule if its spec were changed. */
export const changedSpecQuery = (id: string, schedule: Schedule | undefined, change: object) => {
  const spec = schedule && specFields(schedule)
  return queryOptions({
    queryKey: queryKey('spread', id, spec, change),
    queryFn: () =>
      unwrap(api.POST('/api/v1/preview', { body: { ...spec, ...change, schedule_id: id, count: 1 } as never })),
    enabled: spec !== undefined,
    gcTime: 0,
  })
}

/** The ticks of a schedule from a time on, at most `count`. */
export const ticksFromQuery = (id: string, schedule: Schedule | undefined, start: Date, count: number) =>
  queryOptions({
    queryKey: queryKey('schedule', id, 'count', start, count),
    queryFn: () => {
      const after = new Date(start.getTime() - SECOND_MS).toISOString()
      const spec = specFields(schedule!)
      return unwrap(api.POST('/api/v1/preview', { body: { ...spec, schedule_id: id, after, count } as never }))
    },
    enabled: schedule !== undefined,
  })

/** Ticks of a schedule after an instant one by one, and the number of ticks between given instants. */
export const tickCountsQuery = (
  id: string,
  description: ScheduleDescription | undefined,
  after: number,
  count: number,
  bounds: number[],
) => {
  const schedule = description?.schedule
  const zone = schedule?.degraded ? { timezone: null } : {} // a schedule whose zone is unknown fires in UTC
  return queryOptions({
    queryKey: queryKey('ahead', id, schedule?.definition_version, after, count, bounds),
    queryFn: async () => {
      const request = {
        schedule_id: id,
        after: after / SECOND_MS,
        count,
        bounds: bounds.map((bound) => bound / SECOND_MS),
      }
      const body = { ...specFields(schedule!), ...zone, ...request }
      const preview = await unwrap(api.POST('/api/v1/preview', { body }))
      return { after, bounds, preview, times: preview.ticks.map((tick) => Date.parse(tick.at)) }
    },
    staleTime: 300 * SECOND_MS,
    placeholderData: keepPreviousData,
  })
}

/** The difference that a definition would make to the upcoming ticks of a schedule. */
export const scheduleDiffQuery = (
  id: string | undefined,
  draft: Fields,
  conflictToken: number | undefined,
  count: number,
) =>
  queryOptions({
    queryKey: queryKey('diff', draft, id, conflictToken),
    queryFn: () =>
      unwrap(
        api.POST('/api/v1/schedules/{schedule_id}/diff', {
          params: { path: { schedule_id: id! } },
          body: { ...draft, count } as never,
        }),
      ),
    enabled: id !== undefined,
    placeholderData: keepPreviousData,
    staleTime: 30_000,
    retry: false,
  })
