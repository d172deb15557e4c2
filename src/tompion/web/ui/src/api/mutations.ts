import { type InfiniteData, type QueryClient, useMutation, useQueryClient } from '@tanstack/react-query'

import { showError, showToast } from '../components/toasts'
import { now } from '../lib/clock'
import { shortInstantText } from '../lib/format'
import { displayZone, useZoneChoice } from '../lib/timezones'
import { t } from '../messages'
import { currentNamespace } from './client'
import * as requests from './requests'
import type { Run, Schedule, SchedulePage } from './types'

export type ScheduleAction = 'pause' | 'resume' | 'trigger' | 'skip' | 'unskip' | 'delete'

export interface ScheduleActionRequest {
  action: ScheduleAction
  id: string
  pause?: requests.PauseRequest
  /** What happens to the runs that were missed during the pause; the schedule's policy decides by default. */
  onResume?: string
  /** The tick to skip or unskip: the one that is shown, even if another one is the next by now. */
  at?: string | null
}

/** Return a function that refetches everything that shows a schedule, or all schedules. */
export function useRefresh(): (id?: string) => Promise<void> {
  const queries = useQueryClient()
  return (id) =>
    queries.invalidateQueries({
      predicate: ({ queryKey: [namespace, kind, name] }) =>
        namespace === currentNamespace() && (kind !== 'schedule' || id === undefined || name === id),
    })
}

/** Mutation callbacks that report the outcome and refetch the schedule. */
export function useReporting(id?: string) {
  const refresh = useRefresh()
  return (text: string) => ({
    onSuccess: () => showToast(text),
    onError: showError,
    onSettled: () => void refresh(id),
  })
}

function send({ action, id, pause, onResume, at }: ScheduleActionRequest): Promise<Schedule | Run | unknown> {
  if (action === 'pause') return requests.pauseSchedule(id, pause ?? {})
  if (action === 'resume') return requests.resumeSchedule(id, onResume)
  if (action === 'trigger') return requests.triggerSchedule(id)
  if (action === 'delete') return requests.deleteSchedule(id)
  return action === 'skip' ? requests.skipTick(id, at) : requests.unskipTick(id, at)
}

const isSchedule = (result: unknown): result is Schedule =>
  typeof result === 'object' && result !== null && 'conflict_token' in result

function successText(action: ScheduleAction, id: string, at: string): string {
  if (action === 'pause') return t('schedule.paused', { id })
  if (action === 'resume') return t('schedule.resumed', { id })
  if (action === 'trigger') return t('schedule.runStarted', { id })
  if (action === 'delete') return t('schedule.deleted', { id })
  return action === 'skip' ? t('schedule.skipped', { id, at }) : t('schedule.unskipped', { id, at })
}

/** Show the changed schedule in every list at once; the lists are refetched afterwards. */
function updateLists(queries: QueryClient, changed: Schedule): void {
  const isScheduleList = ({ queryKey: [namespace, kind] }: { queryKey: readonly unknown[] }) =>
    namespace === currentNamespace() && kind === 'schedules'
  queries.setQueriesData<InfiniteData<SchedulePage>>(
    { predicate: isScheduleList },
    (lists) =>
      lists && {
        ...lists,
        pages: lists.pages.map((page) => ({
          ...page,
          items: page.items.map((schedule) => (schedule.schedule_id === changed.schedule_id ? changed : schedule)),
        })),
      },
  )
}

/** All actions on a schedule as one mutation: a list of hundreds of rows needs only one. A skip can be undone. */
export function useScheduleMutations() {
  const refresh = useRefresh()
  const queries = useQueryClient()
  const choice = useZoneChoice()
  const mutation = useMutation({
    mutationFn: send,
    onSuccess: (result, { action, id, at }) => {
      const changed = isSchedule(result) ? result : undefined
      if (changed) updateLists(queries, changed)
      const zone = changed?.timezone
      const tick = at ? shortInstantText(at, displayZone(choice, zone), now(), 'minute') : ''
      const undo = action === 'skip' && at ? () => mutation.mutate({ action: 'unskip', id, at }) : undefined
      showToast(successText(action, id, tick), undo)
    },
    onError: showError,
    onSettled: (_result, _error, { id }) => void refresh(id),
  })
  return mutation
}
