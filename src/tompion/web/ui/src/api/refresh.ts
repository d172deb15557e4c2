import { useMutation, useQueryClient } from '@tanstack/react-query'

import { unwrap, api, currentNamespace } from './client'
import { showError, showToast } from '../components/toasts'

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
  const callbacks = (text: string) => ({
    onSuccess: () => showToast(text),
    onError: showError,
    onSettled: () => void refresh(id),
  })
  return {
    pause: useMutation({
      mutationFn: (body: PauseRequest) => unwrap(api.POST('/api/v1/schedules/{schedule_id}/pause', { params: { path }, body })),
      ...callbacks(`${id} is paused`),
    }),
    resume: useMutation({
      mutationFn: (on_resume?: string) =>
        unwrap(api.POST('/api/v1/schedules/{schedule_id}/resume', { params: { path }, body: on_resume ? { on_resume } : {} })),
      ...callbacks(`${id} goes on`),
    }),
    remove: useMutation({
      mutationFn: () => unwrap(api.DELETE('/api/v1/schedules/{schedule_id}', { params: { path } })),
      ...callbacks(`${id} is deleted`),
    }),
    trigger: useMutation({
      mutationFn: () => unwrap(api.POST('/api/v1/schedules/{schedule_id}/trigger', { params: { path }, body: {} })),
      ...callbacks(`${id} was triggered`),
    }),
  }
}

export type ScheduleActions = ReturnType<typeof useScheduleActions>
