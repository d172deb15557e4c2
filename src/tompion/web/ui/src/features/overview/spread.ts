import { unwrap, api } from '../../api/client'
import { isRetryable, errorMessage } from '../../api/errors'
import type { SpecGroup, SpecPeer } from '../../api/types'

/** What parts schedules of one spec: a jitter, or minutes that are hashes of their ids. */
export type SpreadMethod = 'jitter' | 'hash' | 'leave'

export type SpecChange = { jitter_ms: number } | { cron: string[] }

export interface FailedChange {
  id: string
  reason: string
}

export interface Progress {
  done: number
  failed: FailedChange[]
  total: number
  stopped: boolean
}

const PEERS_PER_PAGE = 1_000
const MAX_PARALLEL = 4
const MAX_TRIES = 4
const RETRY_DELAY_MS = 500

export function specChange(group: SpecGroup, method: SpreadMethod): SpecChange | null {
  if (method === 'jitter' && group.jitter_ms !== null) return { jitter_ms: group.jitter_ms }
  if (method === 'hash' && group.hashed) return { cron: group.hashed }
  return null
}

/** Everybody with the spec of one schedule, with the token of each: what is changed is what was seen. */
export async function fetchSpecPeers(id: string, signal: AbortSignal): Promise<SpecPeer[]> {
  const peers: SpecPeer[] = []
  let after: string | undefined
  do {
    const page = await unwrap(
      api.GET('/api/v1/schedules/{schedule_id}/sharers', { params: { path: { schedule_id: id }, query: { limit: PEERS_PER_PAGE, after } }, signal }),
    )
    peers.push(...page.items)
    after = page.next_page ?? undefined
  } while (after)
  return peers
}

/** Change one schedule as long as it is what was seen; a service that is busy is asked again. */
async function applyChange({ schedule_id: id, token }: SpecPeer, change: SpecChange): Promise<string | null> {
  const params = { path: { schedule_id: id }, header: { 'If-Match': `"${token}"` } }
  for (let attempt = 1; ; attempt += 1)
    try {
      await unwrap(api.PATCH('/api/v1/schedules/{schedule_id}', { params, body: change as never }))
      return null
    } catch (error) {
      if (attempt === MAX_TRIES || !isRetryable(error)) return errorMessage(error)
      await new Promise((done) => window.setTimeout(done, attempt * RETRY_DELAY_MS))
    }
}

/** Change many, a few at a time, and tell how far it is; it ends early when that is wanted. */
export async function applyChanges(changes: { peer: SpecPeer; change: SpecChange }[], signal: AbortSignal, onProgress: (progress: Progress) => void): Promise<Progress> {
  const progress: Progress = { done: 0, failed: [], total: changes.length, stopped: false }
  let next = 0
  const worker = async () => {
    while (next < changes.length && !signal.aborted) {
      const { peer, change } = changes[next++]!
      const reason = await applyChange(peer, change)
      if (reason) progress.failed.push({ id: peer.schedule_id, reason })
      progress.done += 1
      onProgress({ ...progress })
    }
  }
  await Promise.all(Array.from({ length: MAX_PARALLEL }, worker))
  progress.stopped = progress.done < progress.total
  return { ...progress }
}
