import { type Query, type QueryClient, useQueryClient } from '@tanstack/react-query'
import { useEffect, useSyncExternalStore } from 'react'

import { revalidateSession } from './session'

export type LiveState = 'connecting' | 'live' | 'away'

const FLUSH_MS = 700
const REST_FACTOR = 3
const STATS_INTERVAL_MS = 5_000
const MIN_RETRY_MS = 1_000
const MAX_RETRY_MS = 30_000
const LIST_KINDS = new Set(['audit', 'schedules', 'summaries', 'recent-runs'])
/** Answers that cover all schedules. They are expensive for the server and change with every run. */
const STATS_KINDS = new Set(['stats', 'upcoming', 'problems', 'instances', 'queues', 'count'])
const OTHER_KINDS = new Set(['workflows', 'calendars', 'queues', 'keys', 'audit'])

let state: LiveState = 'connecting'
const listeners = new Set<() => void>()

function setState(next: LiveState): void {
  if (next === state) return
  state = next
  for (const listener of listeners) listener()
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

/** Runs a task soon after a request. The pause between two runs is longer than the task itself took. */
class Throttle {
  private timer: number | undefined
  private pending = false
  private stopped = false
  private notBefore = 0
  private readonly task: () => Promise<unknown>
  private readonly minIntervalMs: number

  constructor(task: () => Promise<unknown>, minIntervalMs: number) {
    this.task = task
    this.minIntervalMs = minIntervalMs
  }

  request(): void {
    this.pending = true
    if (this.stopped) return
    this.timer ??= window.setTimeout(() => void this.run(), Math.max(FLUSH_MS, this.notBefore - performance.now()))
  }

  stop(): void {
    this.stopped = true
    window.clearTimeout(this.timer)
  }

  private async run(): Promise<void> {
    this.pending = false
    const startedAt = performance.now()
    await this.task()
    const finishedAt = performance.now()
    this.notBefore = finishedAt + Math.max(this.minIntervalMs, REST_FACTOR * (finishedAt - startedAt))
    this.timer = undefined
    if (this.pending) this.request()
  }
}

/** Collects change events and refetches the affected queries. */
class ChangeCollector {
  private schedules = new Set<string>()
  private runs = new Set<string>()
  private hasOtherChanges = false
  private readonly listThrottle = new Throttle(() => this.refetchLists(), FLUSH_MS)
  private readonly statsThrottle = new Throttle(() => this.refetch((kind) => STATS_KINDS.has(kind)), STATS_INTERVAL_MS)
  private readonly queries: QueryClient
  private readonly namespace: string

  constructor(queries: QueryClient, namespace: string) {
    this.queries = queries
    this.namespace = namespace
  }

  add(data: string): void {
    const change = JSON.parse(data) as { schedule_id?: string; run_id?: string }
    if (change.schedule_id) this.schedules.add(change.schedule_id)
    else this.hasOtherChanges = true
    if (change.run_id) this.runs.add(change.run_id)
    this.listThrottle.request()
    this.statsThrottle.request()
  }

  stop(): void {
    this.listThrottle.stop()
    this.statsThrottle.stop()
  }

  private refetchLists(): Promise<void> {
    const { schedules, runs, hasOtherChanges } = this
    this.hasOtherChanges = false
    this.schedules = new Set()
    this.runs = new Set()
    return this.refetch(
      (kind, name) =>
        LIST_KINDS.has(kind) ||
        (hasOtherChanges && OTHER_KINDS.has(kind)) ||
        (kind === 'schedule' && schedules.has(name)) ||
        (kind === 'run' && runs.has(name)),
    )
  }

  private refetch(matches: (kind: string, name: string) => boolean): Promise<void> {
    const predicate = ({ queryKey: [namespace, kind, name] }: Query) =>
      namespace === this.namespace && matches(String(kind), String(name))
    return this.queries.invalidateQueries({ predicate })
  }
}

/**
 * Subscribe to the change events of a namespace while the tab is visible, over one stream. A browser has six connections
 * for all its tabs, so a hidden tab has no stream and refetches everything when it becomes visible.
 */
export function useLive(namespace: string, enabled: boolean): void {
  const queries = useQueryClient()
  useEffect(() => {
    if (!enabled) return
    const changes = new ChangeCollector(queries, namespace)
    let retryMs = MIN_RETRY_MS
    let source: EventSource | undefined
    let retry: number | undefined

    const connect = () => {
      const query = namespace ? `?namespace=${encodeURIComponent(namespace)}` : ''
      let wasConnected = false
      const stream = new EventSource(`/api/v1/events${query}`)
      source = stream
      stream.addEventListener('hello', () => {
        if (state === 'away') void queries.invalidateQueries()
        wasConnected = true
        retryMs = MIN_RETRY_MS
        setState('live')
      })
      stream.addEventListener('run', (event) => changes.add(event.data))
      stream.addEventListener('edit', (event) => changes.add(event.data))
      stream.addEventListener('reset', () => void queries.invalidateQueries())
      stream.onerror = () => {
        stream.close()
        setState('away')
        if (!wasConnected) revalidateSession(queries)
        retry = window.setTimeout(connect, retryMs)
        retryMs = Math.min(retryMs * 2, MAX_RETRY_MS)
      }
    }
    const disconnect = () => {
      window.clearTimeout(retry)
      source?.close()
      source = undefined
    }
    const onVisibilityChange = () => {
      if (document.hidden) {
        disconnect()
        setState('away')
      } else if (!source) connect()
    }
    onVisibilityChange()
    document.addEventListener('visibilitychange', onVisibilityChange)
    return () => {
      document.removeEventListener('visibilitychange', onVisibilityChange)
      changes.stop()
      disconnect()
    }
  }, [queries, namespace, enabled])
}
