import { useMutation, useQueryClient, type InfiniteData, type QueryClient } from '@tanstack/react-query'

import { unwrap, api, currentNamespace } from './client'
import type { Run, Schedule, SchedulePage } from './types'
import { useRefresh, type PauseRequest } from './refresh'
import { now } from '../lib/clock'
import { shortInstantText } from '../lib/format'
import { showError, showToast } from '../components/toasts'
import { useZoneChoice, displayZone } from '../lib/timezones'

export type ScheduleAction = 'pause' | 'resume' | 'trigger' | 'skip' | 'unskip'

export interface ScheduleActionRequest {
  action: ScheduleAction
  id: string
  pause?: PauseRequest
  /** The tick that is skipped, or no longer: the one that is shown, whichever is the next when this arrives. */
  at?: string | null
}

const ACTION_MESSAGES: Record<ScheduleAction, (id: string, tick: string) => string> = {
  pause: (id) => `${id} is paused`,
  resume: (id) => `${id} goes on`,
  trigger: (id) => `${id} was triggered`,
  skip: (id, tick) => `The tick of ${id} at ${tick} will be skipped`,
  unskip: (id, tick) => `The tick of ${id} at ${tick} will run`,
}

function send({ action, id, pause, at }: ScheduleActionRequest): Promise<Schedule | Run> {
  const params = { path: { schedule_id: id } }
  if (action === 'pause') return unwrap(api.POST('/api/v1/schedules/{schedule_id}/pause', { params, body: pause ?? {} }))
  if (action === 'resume') return unwrap(api.POST('/api/v1/schedules/{schedule_id}/resume', { params, body: {} }))
  if (action === 'trigger') return unwrap(api.POST('/api/v1/schedules/{schedule_id}/trigger', { params, body: {} }))
  const body = at ? { at: [at] } : {}
  if (action === 'skip') return unwrap(api.POST('/api/v1/schedules/{schedule_id}/skip', { params, body }))
  return unwrap(api.POST('/api/v1/schedules/{schedule_id}/unskip', { params, body }))
}

/** Show what the service has answered at once; the lists are read again afterwards. */
function updateLists(queries: QueryClient, result: Schedule | Run): void {
  if (!('definition' in result)) return
  const isScheduleList = ({ queryKey: [namespace, kind] }: { queryKey: readonly unknown[] }) => namespace === currentNamespace() && kind === 'schedules'
  queries.setQueriesData<InfiniteData<SchedulePage>>({ predicate: isScheduleList }, (lists) =>
    lists && {
      ...lists,
      pages: lists.pages.map((page) => ({
        ...page,
        items: page.items.map((schedule) => (schedule.schedule_id === result.schedule_id ? result : schedule)),
      })),
    },
  )
}

/** What people do to a row: one for the whole list, so that a row costs little.  A skip offers to be taken back. */
export function useScheduleMutation() {
  const refresh = useRefresh()
  const queries = useQueryClient()
  const choice = useZoneChoice()
  const mutation = useMutation({
    mutationFn: send,
    onSuccess: (result, { action, id, at }) => {
      updateLists(queries, result)
      const zone = 'definition' in result ? result.definition.spec?.timezone : undefined
      const tick = at ? shortInstantText(at, displayZone(choice, zone), now(), 'minute') : ''
      showToast(ACTION_MESSAGES[action](id, tick), action === 'skip' && at ? () => mutation.mutate({ action: 'unskip', id, at }) : undefined)
    },
    onError: showError,
    onSettled: (_, __, { id }) => void refresh(id),
  })
  return mutation
}
