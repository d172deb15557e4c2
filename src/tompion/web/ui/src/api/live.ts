import { useQueryClient, type Query, type QueryClient } from '@tanstack/react-query'
import { useEffect, useSyncExternalStore } from 'react'

import { checkVisit } from './session'

export type LiveState = 'connecting' | 'live' | 'away'

const FLUSH_MS = 700
const REST = 3
const FIGURES_MS = 5_000
const FIRST_WAIT_MS = 1_000
const LONGEST_WAIT_MS = 30_000
const LISTS = new Set(['audit', 'schedules', 'glances', 'recent-runs'])
/** What is counted over everything: it costs the service most, and changes with every run. */
const FIGURES = new Set(['stats', 'coming', 'attention', 'instances', 'queues', 'count'])
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

/** Does something soon after it is wanted, and no more often than it takes: it rests for longer than it works. */
class Pace {
  private timer: number | undefined
  private again = false
  private stopped = false
  private earliest = 0
  private readonly work: () => Promise<unknown>
  private readonly leastMs: number

  constructor(work: () => Promise<unknown>, leastMs: number) {
    this.work = work
    this.leastMs = leastMs
  }

  want(): void {
    this.again = true
    if (this.stopped) return
    this.timer ??= window.setTimeout(() => void this.run(), Math.max(FLUSH_MS, this.earliest - performance.now()))
  }

  stop(): void {
    this.stopped = true
    window.clearTimeout(this.timer)
  }

  private async run(): Promise<void> {
    this.again = false
    const begin = performance.now()
    await this.work()
    const end = performance.now()
    this.earliest = end + Math.max(this.leastMs, REST * (end - begin))
    this.timer = undefined
    if (this.again) this.want()
  }
}

/** Gathers what has changed, and reads it again. */
class Changes {
  private schedules = new Set<string>()
  private runs = new Set<string>()
  private others = false
  private readonly lists = new Pace(() => this.readLists(), FLUSH_MS)
  private readonly figures = new Pace(() => this.read((kind) => FIGURES.has(kind)), FIGURES_MS)
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
    this.lists.want()
    this.figures.want()
  }

  stop(): void {
    this.lists.stop()
    this.figures.stop()
  }

  private readLists(): Promise<void> {
    const { schedules, runs, others } = this
    this.others = false
    this.schedules = new Set()
    this.runs = new Set()
    return this.read(
      (kind, name) =>
        LISTS.has(kind) || (others && OTHERS.has(kind)) || (kind === 'schedule' && schedules.has(name)) || (kind === 'run' && runs.has(name)),
    )
  }

  private read(concerned: (kind: string, name: string) => boolean): Promise<void> {
    const predicate = ({ queryKey: [namespace, kind, name] }: Query) =>
      namespace === this.namespace && concerned(String(kind), String(name))
    return this.queries.invalidateQueries({ predicate })
  }
}

/**
 * Listen to what changes in a namespace for as long as the page can be seen: one stream for everybody on it.  A browser
 * has six connections for all its tabs; one that nobody looks at needs none, and reads everything anew when it is seen.
 */
export function useLive(namespace: string, wanted: boolean): void {
  const queries = useQueryClient()
  useEffect(() => {
    if (!wanted) return
    const changes = new Changes(queries, namespace)
    let wait = FIRST_WAIT_MS
    let source: EventSource | undefined
    let retry: number | undefined

    const connect = () => {
      const query = namespace ? `?namespace=${encodeURIComponent(namespace)}` : ''
      let heard = false
      const opened = new EventSource(`/api/v1/events${query}`)
      source = opened
      opened.addEventListener('hello', () => {
        if (state === 'away') void queries.invalidateQueries()
        heard = true
        wait = FIRST_WAIT_MS
        become('live')
      })
      opened.addEventListener('run', (event) => changes.hear(event.data))
      opened.addEventListener('edit', (event) => changes.hear(event.data))
      opened.addEventListener('reset', () => void queries.invalidateQueries())
      opened.onerror = () => {
        opened.close()
        become('away')
        if (!heard) checkVisit(queries)
        retry = window.setTimeout(connect, wait)
        wait = Math.min(wait * 2, LONGEST_WAIT_MS)
      }
    }
    const leave = () => {
      window.clearTimeout(retry)
      source?.close()
      source = undefined
    }
    const look = () => {
      if (document.hidden) {
        leave()
        become('away')
      } else if (!source) connect()
    }
    look()
    document.addEventListener('visibilitychange', look)
    return () => {
      document.removeEventListener('visibilitychange', look)
      changes.stop()
      leave()
    }
  }, [queries, namespace, wanted])
}
