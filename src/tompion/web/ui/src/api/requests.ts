/** All requests that change something. The queries are in queries.ts. No other module contains a path of the API. */
import { api, unwrap } from './client'
import type { BulkResult, SpecPeer } from './types'

type Fields = Record<string, unknown>

export interface PauseRequest {
  note?: string
  until?: string
  paused_by?: string
}

const schedulePath = (id: string) => ({ path: { schedule_id: id } })
const ifMatch = (conflictToken: number | undefined) =>
  conflictToken === undefined ? {} : { 'If-Match': `"${conflictToken}"` }

export const signIn = (credential: string) => unwrap(api.POST('/api/v1/session', { body: { credential } }))
export const signOut = () => unwrap(api.DELETE('/api/v1/session'))

export const fetchSchedule = (id: string) =>
  unwrap(api.GET('/api/v1/schedules/{schedule_id}', { params: schedulePath(id) }))
export const createSchedule = (id: string, draft: Fields) =>
  unwrap(api.POST('/api/v1/schedules', { body: { ...draft, schedule_id: id } as never }))
export const replaceSchedule = (id: string, draft: Fields, conflictToken: number) =>
  unwrap(
    api.PUT('/api/v1/schedules/{schedule_id}', {
      params: { ...schedulePath(id), header: ifMatch(conflictToken) },
      body: draft as never,
    }),
  )
export const patchSchedule = (id: string, change: object, conflictToken: number) =>
  unwrap(
    api.PATCH('/api/v1/schedules/{schedule_id}', {
      params: { ...schedulePath(id), header: ifMatch(conflictToken) },
      body: change as never,
    }),
  )
export const deleteSchedule = (id: string) =>
  unwrap(api.DELETE('/api/v1/schedules/{schedule_id}', { params: schedulePath(id) }))
export const pauseSchedule = (id: string, body: PauseRequest) =>
  unwrap(api.POST('/api/v1/schedules/{schedule_id}/pause', { params: schedulePath(id), body }))
export const resumeSchedule = (id: string, onResume?: string) =>
  unwrap(
    api.POST('/api/v1/schedules/{schedule_id}/resume', {
      params: schedulePath(id),
      body: onResume ? { on_resume: onResume } : {},
    }),
  )
export const triggerSchedule = (id: string) =>
  unwrap(api.POST('/api/v1/schedules/{schedule_id}/trigger', { params: schedulePath(id), body: {} }))
export const skipTick = (id: string, at: string | null | undefined) =>
  unwrap(api.POST('/api/v1/schedules/{schedule_id}/skip', { params: schedulePath(id), body: at ? { at: [at] } : {} }))
export const unskipTick = (id: string, at: string | null | undefined) =>
  unwrap(api.POST('/api/v1/schedules/{schedule_id}/unskip', { params: schedulePath(id), body: at ? { at: [at] } : {} }))
export const restoreVersion = (id: string, version: number, conflictToken: number | undefined) =>
  unwrap(
    api.POST('/api/v1/schedules/{schedule_id}/versions/{version}/restore', {
      params: { path: { schedule_id: id, version }, header: ifMatch(conflictToken) },
      body: {},
    }),
  )

export const addHint = (id: string, body: { interval_ms: number; ttl_ms: number; reason?: string }) =>
  unwrap(api.POST('/api/v1/schedules/{schedule_id}/hints', { params: schedulePath(id), body }))
export const clearHints = (id: string) =>
  unwrap(api.DELETE('/api/v1/schedules/{schedule_id}/hints', { params: schedulePath(id) }))
export const resetFailures = (id: string) =>
  unwrap(api.POST('/api/v1/schedules/{schedule_id}/reset-failures', { params: schedulePath(id), body: {} }))

export const createBackfill = (id: string, body: { start: string; end: string; only: string; overlap: string }) =>
  unwrap(api.POST('/api/v1/schedules/{schedule_id}/backfills', { params: schedulePath(id), body }))
export const cancelBackfill = (backfillId: number) =>
  unwrap(
    api.POST('/api/v1/backfills/{backfill_id}/cancel', { params: { path: { backfill_id: backfillId } }, body: {} }),
  )

/** Fetch all schedules with the same spec as one schedule, each with the conflict token that guards a change. */
export async function fetchSpecPeers(id: string, pageSize: number, signal: AbortSignal): Promise<SpecPeer[]> {
  const peers: SpecPeer[] = []
  let after: string | undefined
  do {
    const page = await unwrap(
      api.GET('/api/v1/schedules/{schedule_id}/same-spec', {
        params: { ...schedulePath(id), query: { limit: pageSize, after } },
        signal,
      }),
    )
    peers.push(...page.items)
    after = page.next_page ?? undefined
  } while (after)
  return peers
}

export type BulkAction = 'pause' | 'resume' | 'trigger'

export function runBulk(action: BulkAction, body: Fields): Promise<BulkResult> {
  if (action === 'pause') return unwrap(api.POST('/api/v1/bulk/pause', { body }))
  if (action === 'resume') return unwrap(api.POST('/api/v1/bulk/resume', { body }))
  return unwrap(api.POST('/api/v1/bulk/trigger', { body }))
}

export type RunAction = 'cancel' | 'terminate' | 'retry'

export function changeRun(action: RunAction, runId: string) {
  const params = { path: { run_id: runId } }
  if (action === 'cancel') return unwrap(api.POST('/api/v1/runs/{run_id}/cancel', { params, body: {} }))
  if (action === 'terminate') return unwrap(api.POST('/api/v1/runs/{run_id}/terminate', { params, body: {} }))
  return unwrap(api.POST('/api/v1/runs/{run_id}/retry', { params, body: {} }))
}

/** Save a workflow. The promise is rejected with a SyntaxError if the text is not JSON. */
export const saveWorkflow = async (id: string, text: string) =>
  unwrap(api.PUT('/api/v1/workflows/{workflow_id}', { params: { path: { workflow_id: id } }, body: JSON.parse(text) }))
export const saveCalendar = (name: string, calendar: Fields) =>
  unwrap(api.PUT('/api/v1/calendars/{name}', { params: { path: { name } }, body: calendar as never }))

/** Pause or resume the target of runs: a workflow or a queue. */
export function setTargetPaused(
  target: 'workflow' | 'queue',
  name: string,
  paused: boolean,
  note: string,
): Promise<unknown> {
  const body = paused && note ? { note } : {}
  if (target === 'queue') {
    const params = { path: { queue: name } }
    if (paused) return unwrap(api.POST('/api/v1/queues/{queue}/pause', { params, body }))
    return unwrap(api.POST('/api/v1/queues/{queue}/resume', { params, body }))
  }
  const params = { path: { workflow_id: name } }
  if (paused) return unwrap(api.POST('/api/v1/workflows/{workflow_id}/pause', { params, body }))
  return unwrap(api.POST('/api/v1/workflows/{workflow_id}/resume', { params, body }))
}

export const createKey = (body: { name: string; role: string; expires_at?: string }) =>
  unwrap(api.POST('/api/v1/keys', { body }))
export const revokeKey = (keyId: string) =>
  unwrap(api.DELETE('/api/v1/keys/{key_id}', { params: { path: { key_id: keyId } } }))
