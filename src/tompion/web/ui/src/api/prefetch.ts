import { MAX_UPCOMING, TIME_RANGES } from '../features/overview/ranges'
import { FORECAST_PARAMS, MAX_PROBLEMS, SCHEDULES_PER_PAGE, SUMMARIES_PER_REQUEST } from './limits'

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
  return prefetched && Date.now() - prefetched.startedAt < MAX_AGE_MS
    ? prefetched.answer.catch(() => fetch(request))
    : fetch(request)
}

/**
 * Send a request for the application. `onAnswer` starts the requests that follow from the answer. It runs before the
 * application gets the answer, so that the application never sends one of them first.
 */
function prefetch(
  path: string,
  query: Record<string, string | number | undefined>,
  { body, onAnswer }: { body?: unknown; onAnswer?: (answer: Response) => Promise<void> } = {},
): Promise<Response> {
  const url = new URL(path, window.location.origin)
  for (const [name, value] of Object.entries({ ...query, namespace: searchParam('namespace') }))
    if (value !== undefined) url.searchParams.set(name, String(value))
  const method = body === undefined ? 'GET' : 'POST'
  const payload = body === undefined ? undefined : JSON.stringify(body)
  const headers = payload ? { 'Content-Type': 'application/json' } : undefined
  const answer = fetch(url, { method, body: payload, headers }).then(async (response) => {
    if (response.ok) await onAnswer?.(response.clone()).catch(() => undefined)
    return response
  })
  answer.catch(() => undefined)
  inFlight.set(requestKey(method, url.href, payload ?? ''), { startedAt: Date.now(), answer })
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

function prefetchOverview(): void {
  const { seconds, buckets } = TIME_RANGES[searchParam('range') === 'day' ? 'day' : 'hour']
  let remaining = 2
  const onAnswer = async () => {
    remaining -= 1
    if (remaining === 0) void prefetch('/api/v1/forecast', FORECAST_PARAMS)
  }
  void prefetch('/api/v1/stats', { seconds, buckets }, { onAnswer })
  void prefetch('/api/v1/upcoming', { seconds, limit: MAX_UPCOMING }, { onAnswer })
  void prefetch('/api/v1/problems', { limit: MAX_PROBLEMS })
  void prefetch('/api/v1/instances', {})
}

function prefetchSchedules(): void {
  const [status, workflow_id, label, user_id, text] = ['status', 'workflow_id', 'label', 'user_id', 'text'].map(
    searchParam,
  )
  const filter = { status, workflow_id, label, user_id, text }
  void prefetch('/api/v1/schedules', { ...filter, limit: SCHEDULES_PER_PAGE }, { onAnswer: prefetchSummaries })
}

async function prefetchSummaries(answer: Response): Promise<void> {
  const { items } = (await answer.json()) as { items: { schedule_id: string }[] }
  const ids = items.slice(0, SUMMARIES_PER_REQUEST).map((schedule) => schedule.schedule_id)
  if (ids.length > 0) void prefetch('/api/v1/schedules:summaries', {}, { body: { schedule_ids: ids } })
}

/** Prefetch the data of the view if the user is signed in. */
async function prefetchView(session: Response): Promise<void> {
  const { actor } = (await session.json()) as { actor: string | null }
  if (!actor) return
  if (pathname === '/') prefetchOverview()
  else if (pathname === '/schedules') prefetchSchedules()
}

void prefetch('/api/v1/session', {}, { onAnswer: prefetchView })
