import { useQueryClient, type Query, type QueryClient } from '@tanstack/react-query'
import { useEffect, useSyncExternalStore } from 'react'

export type LiveState = 'connecting' | 'live' | 'away'

const FLUSH_MS = 700
const FIRST_WAIT_MS = 1_000
const LONGEST_WAIT_MS = 30_000
const LISTS = new Set(['audit', 'schedules', 'glances', 'recent-runs', 'stats', 'coming', 'attention', 'instances', 'queues'])

const OTHERS = new Set(['workflows', 'calendars', 'queues', 'keys', 'audit'])

let state: LiveState = 'connecting'
const listeners = new Set<() => void>()

function become(next: LiveState): void {
  if (next === state) return
  state = next
  listeners.forEach((each) => each())
}

export function useLiveState(): LiveState {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    () => state,
  )
}

/** Gathers what has changed, and reads it again at most so often. */
class Changes {
  private schedules = new Set<string>()
  private runs = new Set<string>()
  private others = false
  private timer: number | undefined
  private readonly queries: QueryClient
  private readonly namespace: string

  constructor(queries: QueryClient, namespace: string) {
    this.queries = queries
    this.namespace = namespace
  }

  hear(data: string): void {
    const told = JSON.parse(data) as { schedule_id?: string; run_id?: string }
    if (told.schedule_id) this.schedules.add(told.schedule_id)
    else this.others = true
    if (told.run_id) this.runs.add(told.run_id)
    this.timer ??= window.setTimeout(() => this.flush(), FLUSH_MS)
  }

  stop(): void {
    window.clearTimeout(this.timer)
  }

  private flush(): void {
    this.timer = undefined
    const { schedules, runs, others } = this
    this.others = false
    this.schedules = new Set()
    this.runs = new Set()
    const concerns = ({ queryKey: [namespace, kind, name] }: Query) =>
      namespace === this.namespace &&
      (LISTS.has(String(kind)) ||
        (others && OTHERS.has(String(kind))) ||
        (kind === 'schedule' && schedules.has(String(name))) ||
        (kind === 'run' && runs.has(String(name))))
    void this.queries.invalidateQueries({ predicate: concerns })
  }
}

/** Listen to what changes in a namespace for as long as the page is open: one stream for everybody. */
export function useLive(namespace: string, wanted: boolean): void {
  const queries = useQueryClient()
  useEffect(() => {
    if (!wanted) return
    const changes = new Changes(queries, namespace)
    let wait = FIRST_WAIT_MS
    let source: EventSource
    let retry: number | undefined

    const connect = () => {
      const query = namespace ? `?namespace=${encodeURIComponent(namespace)}` : ''
      source = new EventSource(`/api/v1/events${query}`)
      source.addEventListener('hello', () => {
        if (state === 'away') void queries.invalidateQueries()
        wait = FIRST_WAIT_MS
        become('live')
      })
      source.addEventListener('run', (event) => changes.hear(event.data))
      source.addEventListener('edit', (event) => changes.hear(event.data))
      source.addEventListener('reset', () => void queries.invalidateQueries())
      source.onerror = () => {
        source.close()
        become('away')
        retry = window.setTimeout(connect, wait)
        wait = Math.min(wait * 2, LONGEST_WAIT_MS)
      }
    }
    connect()
    return () => {
      window.clearTimeout(retry)
      changes.stop()
      source.close()
    }
  }, [queries, namespace, wanted])
}
