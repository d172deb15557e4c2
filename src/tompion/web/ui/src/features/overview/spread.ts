import { answer, api } from '../../api/client'
import { isWorthAnotherTry, messageOf } from '../../api/problem'
import type { Kin, Sharer } from '../../api/types'

/** What parts schedules of one spec: a jitter, or minutes that are hashes of their ids. */
export type Way = 'jitter' | 'hash' | 'leave'

export type Change = { jitter_ms: number } | { cron: string[] }

export interface Refusal {
  id: string
  problem: string
}

export interface Progress {
  done: number
  refused: Refusal[]
  total: number
  stopped: boolean
}

const PAGE = 1_000
const AT_A_TIME = 4
const TRIES = 4
const REST_MS = 500

export function changeOf(kin: Kin, way: Way): Change | null {
  if (way === 'jitter' && kin.jitter_ms !== null) return { jitter_ms: kin.jitter_ms }
  if (way === 'hash' && kin.hashed) return { cron: kin.hashed }
  return null
}

/** Everybody with the spec of one schedule, with the token of each: what is changed is what was seen. */
export async function sharersOf(id: string, signal: AbortSignal): Promise<Sharer[]> {
  const found: Sharer[] = []
  let after: string | undefined
  do {
    const page = await answer(
      api.GET('/api/v1/schedules/{schedule_id}/sharers', { params: { path: { schedule_id: id }, query: { limit: PAGE, after } }, signal }),
    )
    found.push(...page.items)
    after = page.next_page ?? undefined
  } while (after)
  return found
}

/** Change one schedule as long as it is what was seen; a service that is busy is asked again. */
async function changeOne({ schedule_id: id, token }: Sharer, change: Change): Promise<string | null> {
  const params = { path: { schedule_id: id }, header: { 'If-Match': `"${token}"` } }
  for (let attempt = 1; ; attempt += 1)
    try {
      await answer(api.PATCH('/api/v1/schedules/{schedule_id}', { params, body: change as never }))
      return null
    } catch (error) {
      if (attempt === TRIES || !isWorthAnotherTry(error)) return messageOf(error)
      await new Promise((done) => window.setTimeout(done, attempt * REST_MS))
    }
}

/** Change many, a few at a time, and tell how far it is; it ends early when that is wanted. */
export async function changeAll(work: { sharer: Sharer; change: Change }[], signal: AbortSignal, tell: (progress: Progress) => void): Promise<Progress> {
  const progress: Progress = { done: 0, refused: [], total: work.length, stopped: false }
  let next = 0
  const one = async () => {
    while (next < work.length && !signal.aborted) {
      const { sharer, change } = work[next++]!
      const problem = await changeOne(sharer, change)
      if (problem) progress.refused.push({ id: sharer.schedule_id, problem })
      progress.done += 1
      tell({ ...progress })
    }
  }
  await Promise.all(Array.from({ length: AT_A_TIME }, one))
  progress.stopped = progress.done < progress.total
  return { ...progress }
}
