import { MAX_UPCOMING, TIME_RANGES } from '../features/overview/ranges'
import { FORECAST_PARAMS, SCHEDULES_PER_PAGE, SUMMARIES_PER_REQUEST } from './limits'

/*
 * The first requests of a view, sent while the browser still loads the application. This script is the first one in the
 * HTML and imports no other chunk. Its requests must be equal to those of queries.ts: then none is sent twice.
 */

/** The age up to which a prefetched answer is used. Later changes arrive by the event stream. */
const MAX_AGE_MS = 5_000
const inFlight = new Map<string, { startedAt: number; answer: Promise<Response> }>()
const { pathname, searchParams } = new URL(window.location.href)

/** Return a key that is the same for equal requests, whatever the order of their parameters. */
function requestKey(method: string, address: string, body: string): string {
  const url = new URL(address, window.location.origin)
  url.searchParams.sort()
  return `${method} ${url} ${body}`
}

/** Send a request, or return the answer of an equal one that was prefetched. */
export async function fetchOnce(request: Request): Promise<Response> {
  if (inFlight.size === 0) return fetch(request)
  const name = requestKey(request.method, request.url, request.method === 'POST' ? await request.clone().text() : '')
  const prefetched = inFlight.get(name)
  inFlight.delete(name)
  return prefetched && performance.now() - prefetched.startedAt < MAX_AGE_MS
    ? prefetched.answer.catch(() => fetch(request))
    : fetch(request)
}

function prefetch(path: string, query: Record<string, string | number | undefined>, body?: unknown): Promise<Response> {
  const url = new URL(path, window.location.origin)
  for (const [name, value] of Object.entries({ ...query, namespace: searchParam('namespace') }))
    if (value !== undefined) url.searchParams.set(name, String(value))
  const method = body === undefined ? 'GET' : 'POST'
  const payload = body === undefined ? undefined : JSON.stringify(body)
  const answer = fetch(url, {
    method,
    body: payload,
    headers: payload ? { 'Content-Type': 'application/json' } : undefined,
  })
  answer.catch(() => undefined)
  inFlight.set(requestKey(method, url.href, payload ?? ''), { startedAt: performance.now(), answer })
  return answer
}

/** Return a search parameter as the router parses it. */
function searchParam(name: string): string | undefined {
  const raw = searchParams.get(name)
  if (!raw) return undefined
  try {
    const value: unknown = JSON.parse(raw)
    return typeof value === 'string' && value !== '' ? value : undefined
  } catch {
    return raw
  }
}

async function prefetchOverview(): Promise<void> {
  const { seconds, buckets } = TIME_RANGES[searchParam('range') === 'day' ? 'day' : 'hour']
  const first = [
    prefetch('/api/v1/stats', { seconds, buckets }),
    prefetch('/api/v1/upcoming', { seconds, limit: MAX_UPCOMING }),
  ]
  void prefetch('/api/v1/problems', { limit: 50 })
  void prefetch('/api/v1/instances', {})
  await Promise.all(first)
  void prefetch('/api/v1/forecast', FORECAST_PARAMS)
}

async function prefetchSchedules(): Promise<void> {
  const [state, workflow_id, label, user_id] = ['state', 'workflow_id', 'label', 'user_id'].map(searchParam)
  const answer = await prefetch('/api/v1/schedules', {
    state,
    workflow_id,
    label,
    user_id,
    text: searchParam('text'),
    limit: SCHEDULES_PER_PAGE,
  })
  if (!answer.ok) return
  const { items } = (await answer.clone().json()) as { items: { schedule_id: string }[] }
  if (items.length > 0)
    void prefetch(
      '/api/v1/schedules:summaries',
      {},
      { schedule_ids: items.slice(0, SUMMARIES_PER_REQUEST).map((schedule) => schedule.schedule_id) },
    )
}

/** Prefetch the session, and the data of the view only if the user is signed in. */
async function prefetchView(): Promise<void> {
  const answer = await prefetch('/api/v1/session', {})
  const session = answer.ok ? ((await answer.clone().json()) as { actor: string | null }) : undefined
  if (!session?.actor) return
  if (pathname === '/') await prefetchOverview()
  else if (pathname === '/schedules') await prefetchSchedules()
}

prefetchView().catch(() => undefined)
