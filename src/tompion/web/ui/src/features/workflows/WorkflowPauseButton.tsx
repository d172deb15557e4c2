import { Button, TextInput } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'

import { unwrap, api } from '../../api/client'
import type { Workflow } from '../../api/types'
import { useRefresh } from '../../api/refresh'
import { ConfirmDialog } from '../../components/ConfirmDialog'
import { showError, showToast } from '../../components/toasts'

/** Lets the ticks of all schedules of a workflow wait, and go on. */
export function WorkflowPauseButton({ workflow: { workflow_id: id, paused }, size = 'compact-xs' }: { workflow: Workflow; size?: string }) {
  const refresh = useRefresh()
  const [isConfirming, setIsConfirming] = useState(false)
  const [note, setNote] = useState('')
  const params = { path: { workflow_id: id } }
  const toggle = useMutation<unknown, Error>({
    mutationFn: () =>
      paused
        ? unwrap(api.POST('/api/v1/workflows/{workflow_id}/resume', { params, body: {} }))
        : unwrap(api.POST('/api/v1/workflows/{workflow_id}/pause', { params, body: note ? { note } : {} })),
    onSuccess: () => {
      showToast(paused ? `Workflow ${id} goes on` : `Workflow ${id} is paused: its ticks wait`)
      setIsConfirming(false)
    },
    onError: showError,
    onSettled: () => refresh(),
  })
  const name = paused ? 'Resume' : 'Pause'
  return (
    <>
      <Button
        size={size}
        variant="default"
        loading={toggle.isPending}
        onClick={() => (paused ? toggle.mutate() : setIsConfirming(true))}
        aria-label={`${name} workflow ${id}`}
      >
        {name}
      </Button>
      {isConfirming && (
        <ConfirmDialog title={`Pause workflow ${id}?`} confirmLabel="Pause" cancelLabel="Leave it running" busy={toggle.isPending} onConfirm={() => toggle.mutate()} onClose={() => setIsConfirming(false)}>
          <p>Ticks of its schedules are still recorded, and wait until it goes on. What runs already is not touched.</p>
          <TextInput label="Why" value={note} onChange={(event) => setNote(event.currentTarget.value)} />
        </ConfirmDialog>
      )}
    </>
  )
}
