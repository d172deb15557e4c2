import type { QueryClient } from '@tanstack/react-query'
import {
  createRootRouteWithContext,
  createRoute,
  createRouter,
  lazyRouteComponent,
  retainSearchParams,
} from '@tanstack/react-router'

import { setNamespace } from '../api/client'
import { UNREACHABLE } from '../api/problem'
import {
  allComingQuery,
  attentionQuery,
  describeQuery,
  glancesQuery,
  instancesQuery,
  RUNS_OF_A_CALENDAR,
  runsQuery,
  schedulesQuery,
  spansQuery,
  statsQuery,
} from '../api/queries'
import { visitQuery } from '../api/session'
import { Failed, NotThere } from './RouteError'
import { Shell } from './AppShell'
import { Overview } from '../features/overview/OverviewView'
import { COMING, SPANS } from '../features/overview/ranges'
import { Schedule } from '../features/schedule/ScheduleView'
import { Ticks } from '../features/schedule/CalendarTab'
import { WINDOWS, type Window } from '../features/schedule/timelineWindows'
import { Schedules } from '../features/schedules/SchedulesView'

interface Everywhere {
  namespace?: string
}

const MONTH = /^\d{4}-(0[1-9]|1[0-2])$/
const DAY = /^\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])$/
const like = (pattern: RegExp, value: unknown) => (typeof value === 'string' && pattern.test(value) ? value : undefined)
const text = (value: unknown) => (typeof value === 'string' && value !== '' ? value : undefined)

const parts: (() => Promise<unknown>)[] = []

/** A view whose code comes when it is needed, or when there is time; without it, the page says so and stays as it is. */
function later<T extends Record<string, unknown>, Name extends keyof T & string>(load: () => Promise<T>, name: Name) {
  parts.push(load)
  return lazyRouteComponent(() => load().catch(() => Promise.reject(new Error(UNREACHABLE))), name)
}

/** Read the code of all views, one after the other, while nothing else is done: then none is missing in an outage. */
export async function readAhead(): Promise<void> {
  for (const load of parts) {
    await new Promise((resolve) => (window.requestIdleCallback ?? window.setTimeout)(resolve))
    await load().catch(() => undefined)
  }
}

const root = createRootRouteWithContext<{ queries: QueryClient }>()({
  component: Shell,
  errorComponent: Failed,
  notFoundComponent: NotThere,
  validateSearch: (search: Record<string, unknown>): Everywhere => ({ namespace: text(search.namespace) }),
  search: { middlewares: [retainSearchParams(['namespace'])] },
  beforeLoad: ({ search }) => setNamespace(search.namespace ?? ''),
  loader: ({ context }) => context.queries.ensureQueryData(visitQuery).catch(() => undefined),
})

/** What narrows the list of schedules down, in its address. */
export interface ListSearch {
  text?: string
  state?: string
  workflow_id?: string
  label?: string
  user_id?: string
}

/** Ask for what a view shows first while the view itself is still on its way; whoever has to sign in first, does. */
function early(queries: QueryClient, ask: () => void): void {
  queries.ensureQueryData(visitQuery).then((visit) => visit.actor && ask(), () => undefined)
}

const overview = createRoute({
  getParentRoute: () => root,
  path: '/',
  validateSearch: (search: Record<string, unknown>): { span?: 'day' } => ({ span: search.span === 'day' ? 'day' : undefined }),
  loaderDeps: ({ search: { span } }) => SPANS[span ?? 'hour'],
  loader: ({ context: { queries }, deps: { seconds, stretches } }) =>
    early(queries, () => {
      void queries.prefetchQuery(statsQuery(seconds, stretches))
      void queries.prefetchQuery(allComingQuery(seconds, COMING))
      void queries.prefetchQuery(attentionQuery())
      void queries.prefetchQuery(instancesQuery())
    }),
  component: Overview,
})

const schedules = createRoute({
  getParentRoute: () => root,
  path: '/schedules',
  validateSearch: (search: Record<string, unknown>): ListSearch => ({
    text: text(search.text),
    state: text(search.state),
    workflow_id: text(search.workflow_id),
    label: text(search.label),
    user_id: text(search.user_id),
  }),
  loaderDeps: ({ search: { text, state, workflow_id, label, user_id } }) => ({ text, state, workflow_id, label, user_id }),
  loader: ({ context: { queries }, deps }) => early(queries, () => void queries.prefetchInfiniteQuery(schedulesQuery(deps))),
  component: Schedules,
})

const schedule = createRoute({
  getParentRoute: () => root,
  path: '/schedules/$id',
  loader: ({ context: { queries }, params: { id }, preload }) => {
    if (preload) return // a pointer that passes over a list asks for nothing
    early(queries, () => {
      void queries.prefetchQuery(describeQuery(id))
      void queries.prefetchQuery(glancesQuery([id]))
    })
  },
  component: Schedule,
})

const ticks = createRoute({
  getParentRoute: () => schedule,
  path: '/',
  validateSearch: (search: Record<string, unknown>): { month?: string; day?: string } => ({
    month: like(MONTH, search.month),
    day: like(DAY, search.day),
  }),
  loader: ({ context: { queries }, params: { id }, preload }) => {
    if (preload) return
    early(queries, () => {
      void queries.prefetchInfiniteQuery(runsQuery(id, {}, RUNS_OF_A_CALENDAR))
      void queries.prefetchQuery(spansQuery(id))
    })
  },
  component: Ticks,
})

const scheduleRuns = createRoute({
  getParentRoute: () => schedule,
  path: '/runs',
  validateSearch: (search: Record<string, unknown>): { run_state?: string; source?: string } => ({
    run_state: text(search.run_state),
    source: text(search.source),
  }),
  component: later(() => import('../features/schedule/RunsTab'), 'Runs'),
})

const timeline = createRoute({
  getParentRoute: () => schedule,
  path: '/timeline',
  validateSearch: (search: Record<string, unknown>): { window?: Window } => ({
    window: typeof search.window === 'string' && search.window in WINDOWS ? (search.window as Window) : undefined,
  }),
  component: later(() => import('../features/schedule/TimelineTab'), 'Timeline'),
})

const versions = createRoute({
  getParentRoute: () => schedule,
  path: '/versions',
  component: later(() => import('../features/schedule/VersionsTab'), 'Versions'),
})

const backfills = createRoute({
  getParentRoute: () => schedule,
  path: '/backfills',
  component: later(() => import('../features/schedule/BackfillsTab'), 'Backfills'),
})

const adaptive = createRoute({
  getParentRoute: () => schedule,
  path: '/adaptive',
  component: later(() => import('../features/schedule/AdaptiveTab'), 'Adaptive'),
})

const history = createRoute({
  getParentRoute: () => schedule,
  path: '/audit',
  component: later(() => import('../features/schedule/HistoryTab'), 'History'),
})

const raw = createRoute({
  getParentRoute: () => schedule,
  path: '/json',
  component: later(() => import('../features/schedule/JsonTab'), 'Raw'),
})

const runs = createRoute({
  getParentRoute: () => root,
  path: '/runs',
  validateSearch: (search: Record<string, unknown>): { state?: string } => ({ state: text(search.state) }),
  component: later(() => import('../features/runs/RunsView'), 'RecentRuns'),
})

const run = createRoute({
  getParentRoute: () => root,
  path: '/runs/$runId',
  component: later(() => import('../features/run/RunView'), 'Run'),
})

const creating = createRoute({
  getParentRoute: () => root,
  path: '/new',
  validateSearch: (search: Record<string, unknown>): { from?: string } => ({ from: text(search.from) }),
  component: later(() => import('../features/editor/CreateScheduleView'), 'Create'),
})

const editing = createRoute({
  getParentRoute: () => root,
  path: '/schedules/$id/edit',
  component: later(() => import('../features/editor/EditScheduleView'), 'Edit'),
})

const workflows = createRoute({
  getParentRoute: () => root,
  path: '/workflows',
  component: later(() => import('../features/workflows/WorkflowsView'), 'Workflows'),
})

const workflow = createRoute({
  getParentRoute: () => root,
  path: '/workflows/$workflowId',
  validateSearch: (search: Record<string, unknown>): { version?: number } => {
    const version = Number(search.version)
    return { version: Number.isSafeInteger(version) && version > 0 ? version : undefined }
  },
  component: later(() => import('../features/workflows/WorkflowView'), 'Workflow'),
})

const calendars = createRoute({
  getParentRoute: () => root,
  path: '/calendars',
  validateSearch: (search: Record<string, unknown>): { calendar?: string } => ({ calendar: text(search.calendar) }),
  component: later(() => import('../features/calendars/CalendarsView'), 'Calendars'),
})

const targets = createRoute({
  getParentRoute: () => root,
  path: '/queues',
  component: later(() => import('../features/queues/QueuesView'), 'Targets'),
})

const keys = createRoute({
  getParentRoute: () => root,
  path: '/keys',
  component: later(() => import('../features/keys/KeysView'), 'Keys'),
})

const audit = createRoute({
  getParentRoute: () => root,
  path: '/audit',
  validateSearch: (search: Record<string, unknown>): { operation?: string; actor?: string } => ({
    operation: text(search.operation),
    actor: text(search.actor),
  }),
  component: later(() => import('../features/audit/AuditView'), 'Audit'),
})

const instances = createRoute({
  getParentRoute: () => root,
  path: '/instances',
  component: later(() => import('../features/instances/InstancesView'), 'Instances'),
})

const settings = createRoute({
  getParentRoute: () => root,
  path: '/settings',
  component: later(() => import('../features/settings/SettingsView'), 'Settings'),
})

const tree = root.addChildren([
  overview,
  schedules,
  schedule.addChildren([ticks, scheduleRuns, timeline, versions, backfills, adaptive, history, raw]),
  editing,
  creating,
  runs,
  run,
  workflows,
  workflow,
  calendars,
  targets,
  keys,
  audit,
  instances,
  settings,
])

export function makeRouter(queries: QueryClient) {
  return createRouter({
    routeTree: tree,
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
