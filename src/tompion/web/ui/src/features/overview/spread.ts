import { errorMessage, isRetryable } from '../../api/errors'
import { patchSchedule } from '../../api/requests'
import type { SpecGroup, SpecPeer } from '../../api/types'

/** How to spread schedules with the same spec: by jitter, or by minutes that are hashes of their ids. */
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

const MAX_PARALLEL = 4
const MAX_TRIES = 4
const RETRY_DELAY_MS = 500

export function specChange(group: SpecGroup, method: SpreadMethod): SpecChange | null {
  if (method === 'jitter' && group.jitter_ms !== null) return { jitter_ms: group.jitter_ms }
  if (method === 'hash' && group.hashed) return { cron: group.hashed }
  return null
}

/** Change one schedule if it is unmodified, with retries while the server is busy. Return the error, if any. */
async function applyChange(
  { schedule_id: id, conflict_token: token }: SpecPeer,
  change: SpecChange,
): Promise<string | null> {
  for (let attempt = 1; ; attempt += 1)
    try {
      await patchSchedule(id, change, token)
      return null
    } catch (error) {
      if (attempt === MAX_TRIES || !isRetryable(error)) return errorMessage(error)
      await new Promise((done) => window.setTimeout(done, attempt * RETRY_DELAY_MS))
    }
}

/** Apply many changes, a few at a time, and report the progress. The signal stops it early. */
export async function applyChanges(
  changes: { peer: SpecPeer; change: SpecChange }[],
  signal: AbortSignal,
  onProgress: (progress: Progress) => void,
): Promise<Progress> {
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
