import { beforeEach, describe, expect, it, vi } from 'vitest'

import { ApiError } from '../../api/errors'
import { patchSchedule } from '../../api/requests'
import type { SpecGroup } from '../../api/types'
import { applyChanges, specChange } from './spread'

vi.mock('../../api/requests', () => ({ patchSchedule: vi.fn() }))
const patch = vi.mocked(patchSchedule)
const changes = ['a', 'b', 'c'].map((id, token) => ({
  peer: { schedule_id: id, conflict_token: token },
  change: { jitter_ms: 5 },
}))

beforeEach(() => void patch.mockReset())

it('returns the change of a method, if the group has it', () => {
  const group = { jitter_ms: null, hashed: ['H 7 * * *'] } as unknown as SpecGroup
  expect(specChange(group, 'hash')).toEqual({ cron: ['H 7 * * *'] })
  expect(specChange(group, 'jitter')).toBeNull()
  expect(specChange(group, 'leave')).toBeNull()
})

describe('applyChanges', () => {
  it('changes every schedule with its own token', async () => {
    const progress = await applyChanges(changes, new AbortController().signal, () => undefined)
    expect(progress).toEqual({ done: 3, failed: [], total: 3, stopped: false })
    expect(patch.mock.calls).toEqual(changes.map(({ peer, change }) => [peer.schedule_id, change, peer.conflict_token]))
  })

  it('collects the failures', async () => {
    patch.mockImplementation((id) =>
      id === 'b' ? Promise.reject(new ApiError(412, 'conflict', 'changed')) : Promise.resolve({} as never),
    )
    const progress = await applyChanges(changes, new AbortController().signal, () => undefined)
    expect(progress).toEqual({ done: 3, failed: [{ id: 'b', reason: 'Changed' }], total: 3, stopped: false })
  })

  it('retries while the server is busy', async () => {
    vi.useFakeTimers()
    patch.mockRejectedValueOnce(new ApiError(503, 'busy', 'busy', undefined, undefined, true))
    const result = applyChanges(changes.slice(0, 1), new AbortController().signal, () => undefined)
    await vi.runAllTimersAsync()
    vi.useRealTimers()
    expect(await result).toMatchObject({ done: 1, failed: [] })
    expect(patch).toHaveBeenCalledTimes(2)
  })

  it('stops when it is aborted', async () => {
    const abort = new AbortController()
    abort.abort()
    expect(await applyChanges(changes, abort.signal, () => undefined)).toMatchObject({ done: 0, stopped: true })
  })
})
