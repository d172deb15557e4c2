import { Button, TextInput } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'

import { answer, api } from '../../api/client'
import type { Workflow } from '../../api/types'
import { useRefresh } from '../../api/refresh'
import { Ask } from '../../components/ConfirmDialog'
import { complain, say } from '../../components/toasts'

/** Lets the ticks of all schedules of a workflow wait, and go on. */
export function Switch({ workflow: { workflow_id: id, paused }, size = 'compact-xs' }: { workflow: Workflow; size?: string }) {
  const refresh = useRefresh()
  const [asking, setAsking] = useState(false)
  const [note, setNote] = useState('')
  const params = { path: { workflow_id: id } }
  const act = useMutation<unknown, Error>({
    mutationFn: () =>
      paused
        ? answer(api.POST('/api/v1/workflows/{workflow_id}/resume', { params, body: {} }))
        : answer(api.POST('/api/v1/workflows/{workflow_id}/pause', { params, body: note ? { note } : {} })),
    onSuccess: () => {
      say(paused ? `Workflow ${id} goes on` : `Workflow ${id} is paused: its ticks wait`)
      setAsking(false)
    },
    onError: complain,
    onSettled: () => refresh(),
  })
  const name = paused ? 'Resume' : 'Pause'
  return (
    <>
      <Button
        size={size}
        variant="default"
        loading={act.isPending}
        onClick={() => (paused ? act.mutate() : setAsking(true))}
        aria-label={`${name} workflow ${id}`}
      >
        {name}
      </Button>
      {asking && (
        <Ask title={`Pause workflow ${id}?`} yes="Pause" no="Leave it running" busy={act.isPending} onYes={() => act.mutate()} onClose={() => setAsking(false)}>
          <p>Ticks of its schedules are still recorded, and wait until it goes on. What runs already is not touched.</p>
          <TextInput label="Why" value={note} onChange={(event) => setNote(event.currentTarget.value)} />
        </Ask>
      )}
    </>
  )
}
