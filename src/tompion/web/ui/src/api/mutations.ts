import { useMutation, useQueryClient, type InfiniteData, type QueryClient } from '@tanstack/react-query'

import { answer, api, currentNamespace } from './client'
import type { Run, Schedule, SchedulePage } from './types'
import { useRefresh, type PauseRequest } from './refresh'
import { now } from '../lib/clock'
import { nearText } from '../lib/format'
import { complain, say } from '../components/toasts'
import { useZoneChoice, zoneFor } from '../lib/timezones'

export type Deed = 'pause' | 'resume' | 'trigger' | 'skip' | 'unskip'

export interface Doing {
  deed: Deed
  id: string
  pause?: PauseRequest
  /** The tick that is skipped, or no longer: the one that is shown, whichever is the next when this arrives. */
  at?: string | null
}

const SAID: Record<Deed, (id: string, tick: string) => string> = {
  pause: (id) => `${id} is paused`,
  resume: (id) => `${id} goes on`,
  trigger: (id) => `${id} was triggered`,
  skip: (id, tick) => `The tick of ${id} at ${tick} will be skipped`,
  unskip: (id, tick) => `The tick of ${id} at ${tick} will run`,
}

function send({ deed, id, pause, at }: Doing): Promise<Schedule | Run> {
  const params = { path: { schedule_id: id } }
  if (deed === 'pause') return answer(api.POST('/api/v1/schedules/{schedule_id}/pause', { params, body: pause ?? {} }))
  if (deed === 'resume') return answer(api.POST('/api/v1/schedules/{schedule_id}/resume', { params, body: {} }))
  if (deed === 'trigger') return answer(api.POST('/api/v1/schedules/{schedule_id}/trigger', { params, body: {} }))
  const body = at ? { at: [at] } : {}
  if (deed === 'skip') return answer(api.POST('/api/v1/schedules/{schedule_id}/skip', { params, body }))
  return answer(api.POST('/api/v1/schedules/{schedule_id}/unskip', { params, body }))
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

/** What people do to a row: one for the whole list, so that a row costs little.  A skip offers to be taken back. */
export function useDeeds() {
  const refresh = useRefresh()
  const queries = useQueryClient()
  const choice = useZoneChoice()
  const deeds = useMutation({
    mutationFn: send,
    onSuccess: (answered, { deed, id, at }) => {
      show(queries, answered)
      const zone = 'definition' in answered ? answered.definition.spec?.timezone : undefined
      const tick = at ? nearText(at, zoneFor(choice, zone), now(), 'minute') : ''
      say(SAID[deed](id, tick), deed === 'skip' && at ? () => deeds.mutate({ deed: 'unskip', id, at }) : undefined)
    },
    onError: complain,
    onSettled: (_, __, { id }) => void refresh(id),
  })
  return deeds
}
