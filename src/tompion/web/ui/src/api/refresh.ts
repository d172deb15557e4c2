import { useMutation, useQueryClient } from '@tanstack/react-query'

import { answer, api, currentNamespace } from './client'
import { complain, say } from '../components/toasts'

export interface PauseRequest {
  note?: string
  until?: string
  paused_by?: string
}

/** Read again what a change to a schedule is seen in. */
export function useRefresh(): (id?: string) => Promise<void> {
  const queries = useQueryClient()
  return (id) =>
    queries.invalidateQueries({
      predicate: ({ queryKey: [namespace, kind, name] }) =>
        namespace === currentNamespace() && (kind !== 'schedule' || id === undefined || name === id),
    })
}

/** What people do to one schedule: each says when it is done, and what was wrong if it is not. */
export function useScheduleActions(id: string) {
  const refresh = useRefresh()
  const path = { schedule_id: id }
  const settled = (text: string) => ({
    onSuccess: () => say(text),
    onError: complain,
    onSettled: () => void refresh(id),
  })
  return {
    pause: useMutation({
      mutationFn: (body: PauseRequest) => answer(api.POST('/api/v1/schedules/{schedule_id}/pause', { params: { path }, body })),
      ...settled(`${id} is paused`),
    }),
    resume: useMutation({
      mutationFn: (on_resume?: string) =>
        answer(api.POST('/api/v1/schedules/{schedule_id}/resume', { params: { path }, body: on_resume ? { on_resume } : {} })),
      ...settled(`${id} goes on`),
    }),
    remove: useMutation({
      mutationFn: () => answer(api.DELETE('/api/v1/schedules/{schedule_id}', { params: { path } })),
      ...settled(`${id} is deleted`),
    }),
    trigger: useMutation({
      mutationFn: () => answer(api.POST('/api/v1/schedules/{schedule_id}/trigger', { params: { path }, body: {} })),
      ...settled(`${id} was triggered`),
    }),
  }
}

export type ScheduleActions = ReturnType<typeof useScheduleActions>
