import { Button } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'

import { answer, api } from '../../api/client'
import type { Workflow } from '../../api/types'
import { useRefresh } from '../../parts/actions'
import { complain, say } from '../../parts/toasts'

/** Lets the ticks of all schedules of a workflow wait, and go on. */
export function Switch({ workflow: { workflow_id: id, paused }, size = 'compact-xs' }: { workflow: Workflow; size?: string }) {
  const refresh = useRefresh()
  const params = { path: { workflow_id: id } }
  const act = useMutation<unknown, Error>({
    mutationFn: () =>
      paused
        ? answer(api.POST('/api/v1/workflows/{workflow_id}/resume', { params, body: {} }))
        : answer(api.POST('/api/v1/workflows/{workflow_id}/pause', { params, body: {} })),
    onSuccess: () => say(paused ? `Workflow ${id} goes on` : `Workflow ${id} is paused: its ticks wait`),
    onError: complain,
    onSettled: () => refresh(),
  })
  const name = paused ? 'Resume' : 'Pause'
  return (
    <Button size={size} variant="default" loading={act.isPending} onClick={() => act.mutate()} aria-label={`${name} workflow ${id}`}>
      {name}
    </Button>
  )
}
