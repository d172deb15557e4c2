import createClient, { type Middleware } from 'openapi-fetch'
import { syncServerTime } from '../lib/clock'
import { toApiError } from './errors'
import { fetchOnce } from './prefetch'
import type { paths } from './schema'

let namespace = ''

/** Set the namespace of every request. */
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

/** Return the data of an answer, or throw its error. */
export async function unwrap<T>(request: Promise<ApiResult<T>>): Promise<T> {
  const { data, error, response } = await request
  if (!response.ok) throw toApiError(response.status, error)
  return data as T
}
