import { AT_A_GLANCE, FORECAST, LIST_PAGE } from './limits'
import { COMING, SPANS } from '../features/overview/ranges'

/*
 * The first questions of a view, asked while the page itself is still being read: this file stands in the page before all
 * others, and needs none of them. What it asks must be what queries.ts asks; then nothing is asked for twice.
 */

/** For how long an answer that nobody has taken is as good as one to a question of now: the stream tells what changed since. */
const LASTS_MS = 5_000
const underWay = new Map<string, { begun: number; answer: Promise<Response> }>()
const { pathname, searchParams } = new URL(window.location.href)

/** What is asked, and of whom, whichever order its parts stand in. */
function nameOf(method: string, address: string, body: string): string {
  const url = new URL(address, window.location.origin)
  url.searchParams.sort()
  return `${method} ${url} ${body}`
}

/** Send a request, unless it is under way already: then its answer is the one to that. */
export async function fetchOnce(request: Request): Promise<Response> {
  if (underWay.size === 0) return fetch(request)
  const name = nameOf(request.method, request.url, request.method === 'POST' ? await request.clone().text() : '')
  const found = underWay.get(name)
  underWay.delete(name)
  return found && performance.now() - found.begun < LASTS_MS ? found.answer.catch(() => fetch(request)) : fetch(request)
}

function ask(path: string, query: Record<string, string | number | undefined>, body?: unknown): Promise<Response> {
  const url = new URL(path, window.location.origin)
  for (const [name, value] of Object.entries({ ...query, namespace: text('namespace') }))
    if (value !== undefined) url.searchParams.set(name, String(value))
  const method = body === undefined ? 'GET' : 'POST'
  const sent = body === undefined ? undefined : JSON.stringify(body)
  const answer = fetch(url, { method, body: sent, headers: sent ? { 'Content-Type': 'application/json' } : undefined })
  answer.catch(() => undefined)
  underWay.set(nameOf(method, url.href, sent ?? ''), { begun: performance.now(), answer })
  return answer
}

/** A part of the address, as the router reads it. */
function text(name: string): string | undefined {
  const given = searchParams.get(name)
  if (!given) return undefined
  try {
    const value: unknown = JSON.parse(given)
    return typeof value === 'string' && value !== '' ? value : undefined
  } catch {
    return given
  }
}

async function overview(): Promise<void> {
  const { seconds, stretches } = SPANS[text('span') === 'day' ? 'day' : 'hour']
  const first = [ask('/api/v1/stats', { seconds, stretches }), ask('/api/v1/coming', { seconds, limit: COMING })]
  void ask('/api/v1/attention', { limit: 50 })
  void ask('/api/v1/instances', {})
  await Promise.all(first)
  void ask('/api/v1/forecast', FORECAST)
}

async function list(): Promise<void> {
  const [state, workflow_id, label, user_id] = ['state', 'workflow_id', 'label', 'user_id'].map(text)
  const answer = await ask('/api/v1/schedules', { state, workflow_id, label, user_id, text: text('text'), limit: LIST_PAGE })
  if (!answer.ok) return
  const { items } = (await answer.clone().json()) as { items: { schedule_id: string }[] }
  if (items.length > 0) void ask('/api/v1/glances', {}, { schedule_ids: items.slice(0, AT_A_GLANCE).map((each) => each.schedule_id) })
}

/** Whoever has to sign in first is asked to; nothing else is asked for. */
async function begin(): Promise<void> {
  const answer = await ask('/api/v1/session', {})
  const visit = answer.ok ? ((await answer.clone().json()) as { actor: string | null }) : undefined
  if (!visit?.actor) return
  if (pathname === '/') await overview()
  else if (pathname === '/schedules') await list()
}

begin().catch(() => undefined)
