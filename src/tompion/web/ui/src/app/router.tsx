import type { QueryClient } from '@tanstack/react-query'
import {
  createRootRouteWithContext,
  createRoute,
  createRouter,
  lazyRouteComponent,
  retainSearchParams,
} from '@tanstack/react-router'
import { setNamespace } from '../api/client'
import {
  CALENDAR_RUNS_PER_PAGE,
  descriptionQuery,
  droppedRangesQuery,
  instancesQuery,
  problemsQuery,
  runsQuery,
  schedulesQuery,
  statsQuery,
  summariesQuery,
  upcomingQuery,
} from '../api/queries'
import { sessionQuery } from '../api/session'
import { OverviewView } from '../features/overview/OverviewView'
import { MAX_UPCOMING, TIME_RANGES } from '../features/overview/ranges'
import { CalendarTab } from '../features/schedule/CalendarTab'
import { ScheduleView } from '../features/schedule/ScheduleView'
import { WINDOWS, type Window } from '../features/schedule/timelineWindows'
import { SchedulesView } from '../features/schedules/SchedulesView'
import { t } from '../messages'
import { AppShell } from './AppShell'
import { NotFound, RouteError } from './RouteError'

interface RootSearch {
  namespace?: string
}

const MONTH = /^\d{4}-(0[1-9]|1[0-2])$/
const DAY = /^\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])$/
const matchingText = (pattern: RegExp, value: unknown) =>
  typeof value === 'string' && pattern.test(value) ? value : undefined
const text = (value: unknown) => (typeof value === 'string' && value !== '' ? value : undefined)

const lazyLoaders: (() => Promise<unknown>)[] = []

/** Return a view whose code is loaded on demand or in idle time. If that fails, the error replaces the view only. */
function lazyView<T extends Record<string, unknown>, Name extends keyof T & string>(
  load: () => Promise<T>,
  name: Name,
) {
  lazyLoaders.push(load)
  return lazyRouteComponent(() => load().catch(() => Promise.reject(new Error(t('error.unreachable')))), name)
}

/** Load the code of all views one by one in idle time, so that an outage of the server does not hide a view. */
export async function preloadViews(): Promise<void> {
  for (const load of lazyLoaders) {
    await new Promise((resolve) => (window.requestIdleCallback ?? window.setTimeout)(resolve))
    await load().catch(() => undefined)
  }
}

const rootRoute = createRootRouteWithContext<{ queries: QueryClient }>()({
  component: AppShell,
  errorComponent: RouteError,
  notFoundComponent: NotFound,
  validateSearch: (search: Record<string, unknown>): RootSearch => ({ namespace: text(search.namespace) }),
  search: { middlewares: [retainSearchParams(['namespace'])] },
  beforeLoad: ({ search }) => setNamespace(search.namespace ?? ''),
  loader: ({ context }) => context.queries.ensureQueryData(sessionQuery).catch(() => undefined),
})

/** The filters of the list of schedules, as search parameters. */
export interface ListSearch {
  text?: string
  status?: string
  workflow_id?: string
  label?: string
  user_id?: string
}

/** Prefetch the data of a view while its code is loading, if the user is signed in. */
function whenSignedIn(queries: QueryClient, load: () => void): void {
  queries.ensureQueryData(sessionQuery).then(
    (session) => session.actor && load(),
    () => undefined,
  )
}

const overviewRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/',
  validateSearch: (search: Record<string, unknown>): { range?: 'day' } => ({
    range: search.range === 'day' ? 'day' : undefined,
  }),
  loaderDeps: ({ search: { range } }) => TIME_RANGES[range ?? 'hour'],
  loader: ({ context: { queries }, deps: { seconds, buckets } }) =>
    whenSignedIn(queries, () => {
      void queries.prefetchQuery(statsQuery(seconds, buckets))
      void queries.prefetchQuery(upcomingQuery(seconds, MAX_UPCOMING))
      void queries.prefetchQuery(problemsQuery())
      void queries.prefetchQuery(instancesQuery())
    }),
  component: OverviewView,
})

const schedulesRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/schedules',
  validateSearch: (search: Record<string, unknown>): ListSearch => ({
    text: text(search.text),
    status: text(search.status),
    workflow_id: text(search.workflow_id),
    label: text(search.label),
    user_id: text(search.user_id),
  }),
  loaderDeps: ({ search: { text, status, workflow_id, label, user_id } }) => ({
    text,
    status,
    workflow_id,
    label,
    user_id,
  }),
  loader: ({ context: { queries }, deps }) =>
    whenSignedIn(queries, () => void queries.prefetchInfiniteQuery(schedulesQuery(deps))),
  component: SchedulesView,
})

const scheduleRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/schedules/$id',
  loader: ({ context: { queries }, params: { id }, preload }) => {
    if (preload) return // a pointer that moves over a list must not send requests
    whenSignedIn(queries, () => {
      void queries.prefetchQuery(descriptionQuery(id))
      void queries.prefetchQuery(summariesQuery([id]))
    })
  },
  component: ScheduleView,
})

const calendarRoute = createRoute({
  getParentRoute: () => scheduleRoute,
  path: '/',
  validateSearch: (search: Record<string, unknown>): { month?: string; day?: string } => ({
    month: matchingText(MONTH, search.month),
    day: matchingText(DAY, search.day),
  }),
  loader: ({ context: { queries }, params: { id }, preload }) => {
    if (preload) return
    whenSignedIn(queries, () => {
      void queries.prefetchInfiniteQuery(runsQuery(id, {}, CALENDAR_RUNS_PER_PAGE))
      void queries.prefetchQuery(droppedRangesQuery(id))
    })
  },
  component: CalendarTab,
})

const scheduleRunsRoute = createRoute({
  getParentRoute: () => scheduleRoute,
  path: '/runs',
  validateSearch: (search: Record<string, unknown>): { run_status?: string; source?: string } => ({
    run_status: text(search.run_status),
    source: text(search.source),
  }),
  component: lazyView(() => import('../features/schedule/RunsTab'), 'RunsTab'),
})

const timelineRoute = createRoute({
  getParentRoute: () => scheduleRoute,
  path: '/timeline',
  validateSearch: (search: Record<string, unknown>): { window?: Window } => ({
    window: typeof search.window === 'string' && search.window in WINDOWS ? (search.window as Window) : undefined,
  }),
  component: lazyView(() => import('../features/schedule/TimelineTab'), 'TimelineTab'),
})

const versionsRoute = createRoute({
  getParentRoute: () => scheduleRoute,
  path: '/versions',
  component: lazyView(() => import('../features/schedule/VersionsTab'), 'VersionsTab'),
})

const backfillsRoute = createRoute({
  getParentRoute: () => scheduleRoute,
  path: '/backfills',
  component: lazyView(() => import('../features/schedule/BackfillsTab'), 'BackfillsTab'),
})

const adaptiveRoute = createRoute({
  getParentRoute: () => scheduleRoute,
  path: '/adaptive',
  component: lazyView(() => import('../features/schedule/AdaptiveTab'), 'AdaptiveTab'),
})

const historyRoute = createRoute({
  getParentRoute: () => scheduleRoute,
  path: '/audit',
  component: lazyView(() => import('../features/schedule/HistoryTab'), 'HistoryTab'),
})

const jsonRoute = createRoute({
  getParentRoute: () => scheduleRoute,
  path: '/json',
  component: lazyView(() => import('../features/schedule/JsonTab'), 'JsonTab'),
})

const runsRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/runs',
  validateSearch: (search: Record<string, unknown>): { status?: string } => ({ status: text(search.status) }),
  component: lazyView(() => import('../features/runs/RunsView'), 'RunsView'),
})

const runRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/runs/$runId',
  component: lazyView(() => import('../features/run/RunView'), 'RunView'),
})

const newScheduleRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/new',
  validateSearch: (search: Record<string, unknown>): { from?: string } => ({ from: text(search.from) }),
  component: lazyView(() => import('../features/editor/CreateScheduleView'), 'CreateScheduleView'),
})

const editScheduleRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/schedules/$id/edit',
  component: lazyView(() => import('../features/editor/EditScheduleView'), 'EditScheduleView'),
})

const workflowsRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/workflows',
  component: lazyView(() => import('../features/workflows/WorkflowsView'), 'WorkflowsView'),
})

const workflowRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/workflows/$workflowId',
  validateSearch: (search: Record<string, unknown>): { version?: number } => {
    const version = Number(search.version)
    return { version: Number.isSafeInteger(version) && version > 0 ? version : undefined }
  },
  component: lazyView(() => import('../features/workflows/WorkflowView'), 'WorkflowView'),
})

const calendarsRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/calendars',
  validateSearch: (search: Record<string, unknown>): { calendar?: string } => ({ calendar: text(search.calendar) }),
  component: lazyView(() => import('../features/calendars/CalendarsView'), 'CalendarsView'),
})

const queuesRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/queues',
  component: lazyView(() => import('../features/queues/QueuesView'), 'QueuesView'),
})

const keysRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/keys',
  component: lazyView(() => import('../features/keys/KeysView'), 'KeysView'),
})

const auditRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/audit',
  validateSearch: (search: Record<string, unknown>): { operation?: string; actor?: string } => ({
    operation: text(search.operation),
    actor: text(search.actor),
  }),
  component: lazyView(() => import('../features/audit/AuditView'), 'AuditView'),
})

const instancesRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/instances',
  component: lazyView(() => import('../features/instances/InstancesView'), 'InstancesView'),
})

const settingsRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/settings',
  component: lazyView(() => import('../features/settings/SettingsView'), 'SettingsView'),
})

const routeTree = rootRoute.addChildren([
  overviewRoute,
  schedulesRoute,
  scheduleRoute.addChildren([
    calendarRoute,
    scheduleRunsRoute,
    timelineRoute,
    versionsRoute,
    backfillsRoute,
    adaptiveRoute,
    historyRoute,
    jsonRoute,
  ]),
  editScheduleRoute,
  newScheduleRoute,
  runsRoute,
  runRoute,
  workflowsRoute,
  workflowRoute,
  calendarsRoute,
  queuesRoute,
  keysRoute,
  auditRoute,
  instancesRoute,
  settingsRoute,
])

export function makeRouter(queries: QueryClient) {
  return createRouter({
    routeTree,
    context: { queries },
    defaultPreload: 'intent',
    defaultPendingMs: 300,
    scrollRestoration: true,
    trailingSlash: 'preserve',
  })
}

declare module '@tanstack/react-router' {
  interface Register {
    router: ReturnType<typeof makeRouter>
  }
}
