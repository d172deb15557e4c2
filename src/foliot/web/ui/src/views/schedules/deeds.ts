import { useMutation } from '@tanstack/react-query'

import { answer, api } from '../../api/client'
import { useRefresh, type PauseRequest } from '../../parts/actions'
import { complain, say } from '../../parts/toasts'

export type Deed = 'pause' | 'resume' | 'trigger' | 'skip'

export interface Doing {
  deed: Deed
  id: string
  pause?: PauseRequest
}

const SAID: Record<Deed, (id: string) => string> = {
  pause: (id) => `${id} is paused`,
  resume: (id) => `${id} goes on`,
  trigger: (id) => `${id} was triggered`,
  skip: (id) => `The next tick of ${id} will be skipped`,
}

function send({ deed, id, pause }: Doing): Promise<unknown> {
  const params = { path: { schedule_id: id } }
  if (deed === 'pause') return answer(api.POST('/api/v1/schedules/{schedule_id}/pause', { params, body: pause ?? {} }))
  if (deed === 'resume') return answer(api.POST('/api/v1/schedules/{schedule_id}/resume', { params, body: {} }))
  if (deed === 'trigger') return answer(api.POST('/api/v1/schedules/{schedule_id}/trigger', { params, body: {} }))
  return answer(api.POST('/api/v1/schedules/{schedule_id}/skip', { params, body: {} }))
}

/** What people do to a row: one for the whole list, so that a row costs little. */
export function useDeeds() {
  const refresh = useRefresh()
  return useMutation({
    mutationFn: send,
    onSuccess: (_, { deed, id }) => say(SAID[deed](id)),
    onError: complain,
    onSettled: (_, __, { id }) => refresh(id),
  })
}
