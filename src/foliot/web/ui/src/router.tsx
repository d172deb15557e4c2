import type { QueryClient } from '@tanstack/react-query'
import {
  createRootRouteWithContext,
  createRoute,
  createRouter,
  lazyRouteComponent,
  redirect,
  retainSearchParams,
} from '@tanstack/react-router'

import { setNamespace } from './api/client'
import { visitQuery } from './api/visit'
import { Failed, NotThere } from './shell/Failed'
import { Shell } from './shell/Shell'

interface Everywhere {
  namespace?: string
}

const text = (value: unknown) => (typeof value === 'string' && value !== '' ? value : undefined)

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

const home = createRoute({
  getParentRoute: () => root,
  path: '/',
  beforeLoad: () => {
    throw redirect({ to: '/schedules' })
  },
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
  component: lazyRouteComponent(() => import('./views/schedules/Schedules'), 'Schedules'),
})

const schedule = createRoute({
  getParentRoute: () => root,
  path: '/schedules/$id',
  component: lazyRouteComponent(() => import('./views/schedule/Schedule'), 'Schedule'),
})

const ticks = createRoute({
  getParentRoute: () => schedule,
  path: '/',
  component: lazyRouteComponent(() => import('./views/schedule/Ticks'), 'Ticks'),
})

const scheduleRuns = createRoute({
  getParentRoute: () => schedule,
  path: '/runs',
  validateSearch: (search: Record<string, unknown>): { run_state?: string; source?: string } => ({
    run_state: text(search.run_state),
    source: text(search.source),
  }),
  component: lazyRouteComponent(() => import('./views/schedule/Runs'), 'Runs'),
})

const timeline = createRoute({
  getParentRoute: () => schedule,
  path: '/timeline',
  component: lazyRouteComponent(() => import('./views/schedule/Timeline'), 'Timeline'),
})

const versions = createRoute({
  getParentRoute: () => schedule,
  path: '/versions',
  component: lazyRouteComponent(() => import('./views/schedule/Versions'), 'Versions'),
})

const backfills = createRoute({
  getParentRoute: () => schedule,
  path: '/backfills',
  component: lazyRouteComponent(() => import('./views/schedule/Backfills'), 'Backfills'),
})

const adaptive = createRoute({
  getParentRoute: () => schedule,
  path: '/adaptive',
  component: lazyRouteComponent(() => import('./views/schedule/Adaptive'), 'Adaptive'),
})

const history = createRoute({
  getParentRoute: () => schedule,
  path: '/audit',
  component: lazyRouteComponent(() => import('./views/schedule/History'), 'History'),
})

const raw = createRoute({
  getParentRoute: () => schedule,
  path: '/json',
  component: lazyRouteComponent(() => import('./views/schedule/Raw'), 'Raw'),
})

const runs = createRoute({
  getParentRoute: () => root,
  path: '/runs',
  validateSearch: (search: Record<string, unknown>): { state?: string } => ({ state: text(search.state) }),
  component: lazyRouteComponent(() => import('./views/runs/RecentRuns'), 'RecentRuns'),
})

const run = createRoute({
  getParentRoute: () => root,
  path: '/runs/$runId',
  component: lazyRouteComponent(() => import('./views/run/Run'), 'Run'),
})

const tree = root.addChildren([
  home,
  schedules,
  schedule.addChildren([ticks, scheduleRuns, timeline, versions, backfills, adaptive, history, raw]),
  runs,
  run,
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
