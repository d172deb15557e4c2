import { useMutation, useQueryClient, type InfiniteData, type QueryClient } from '@tanstack/react-query'

import { answer, api, currentNamespace } from '../api/client'
import type { Run, Schedule, SchedulePage } from '../api/types'
import { useRefresh, type PauseRequest } from './actions'
import { complain, say } from './toasts'

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

function send({ deed, id, pause }: Doing): Promise<Schedule | Run> {
  const params = { path: { schedule_id: id } }
  if (deed === 'pause') return answer(api.POST('/api/v1/schedules/{schedule_id}/pause', { params, body: pause ?? {} }))
  if (deed === 'resume') return answer(api.POST('/api/v1/schedules/{schedule_id}/resume', { params, body: {} }))
  if (deed === 'trigger') return answer(api.POST('/api/v1/schedules/{schedule_id}/trigger', { params, body: {} }))
  return answer(api.POST('/api/v1/schedules/{schedule_id}/skip', { params, body: {} }))
}

/** Show what the service has answered at once; the lists are read again afterwards. */
function show(queries: QueryClient, answered: Schedule | Run): void {
  if (!('definition' in answered)) return
  const here = ({ queryKey: [namespace, kind] }: { queryKey: readonly unknown[] }) => namespace === currentNamespace() && kind === 'schedules'
  queries.setQueriesData<InfiniteData<SchedulePage>>({ predicate: here }, (lists) =>
    lists && {
      ...lists,
      pages: lists.pages.map((page) => ({
        ...page,
        items: page.items.map((each) => (each.schedule_id === answered.schedule_id ? answered : each)),
      })),
    },
  )
}

/** What people do to a row: one for the whole list, so that a row costs little. */
export function useDeeds() {
  const refresh = useRefresh()
  const queries = useQueryClient()
  return useMutation({
    mutationFn: send,
    onSuccess: (answered, { deed, id }) => {
      show(queries, answered)
      say(SAID[deed](id))
    },
    onError: complain,
    onSettled: (_, __, { id }) => void refresh(id),
  })
}
