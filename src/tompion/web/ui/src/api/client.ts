import createClient, { type Middleware } from 'openapi-fetch'

import { toApiError } from './errors'
import type { paths } from './schema'
import { fetchOnce } from './prefetch'
import { syncServerTime } from '../lib/clock'

let namespace = ''

/** Say which namespace every request is about. */
export function setNamespace(name: string): void {
  namespace = name
}

export function currentNamespace(): string {
  return namespace
}

const namespaceMiddleware: Middleware = {
  async onRequest({ request }) {
    if (!namespace) return undefined
    const url = new URL(request.url)
    if (!url.searchParams.has('namespace')) url.searchParams.set('namespace', namespace)
    const { method, headers, signal } = request
    const body = method === 'GET' || method === 'DELETE' ? undefined : await request.text()
    return new Request(url, { method, headers, signal, body })
  },
  onResponse({ response }) {
    syncServerTime(response.headers.get('date'))
  },
}

export const api = createClient<paths>({ baseUrl: window.location.origin, fetch: fetchOnce })
api.use(namespaceMiddleware)

interface ApiResult<T> {
  data?: T
  error?: unknown
  response: Response
}

/** Return what the service answered, or throw what it says is wrong. */
export async function unwrap<T>(request: Promise<ApiResult<T>>): Promise<T> {
  const { data, error, response } = await request
  if (!response.ok) throw toApiError(response.status, error)
  return data as T
}
