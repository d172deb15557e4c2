import { Button, TextInput } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { useRefresh } from '../../api/mutations'
import { setTargetPaused } from '../../api/requests'
import type { Workflow } from '../../api/types'
import { ConfirmDialog } from '../../components/ConfirmDialog'
import { showError, showToast } from '../../components/toasts'
import { t } from '../../messages'

/** Pauses or resumes a workflow. While it is paused, the runs of its schedules are queued. */
export function WorkflowPauseButton({
  workflow: { workflow_id: id, paused },
  size = 'compact-xs',
}: {
  workflow: Workflow
  size?: string
}) {
  const refresh = useRefresh()
  const [isConfirming, setIsConfirming] = useState(false)
  const [note, setNote] = useState('')
  const toggle = useMutation<unknown, Error>({
    mutationFn: () => setTargetPaused('workflow', id, !paused, note),
    onSuccess: () => {
      showToast(t(paused ? 'target.workflowResumed' : 'target.workflowPaused', { name: id }))
      setIsConfirming(false)
    },
    onError: showError,
    onSettled: () => refresh(),
  })
  return (
    <>
      <Button
        size={size}
        variant="default"
        loading={toggle.isPending}
        onClick={() => (paused ? toggle.mutate() : setIsConfirming(true))}
        aria-label={t(paused ? 'target.resumeWorkflow' : 'target.pauseWorkflow', { name: id })}
      >
        {t(paused ? 'common.resume' : 'common.pause')}
      </Button>
      {isConfirming && (
        <ConfirmDialog
          title={t('target.pauseTitle', { name: id })}
          confirmLabel={t('common.pause')}
          busy={toggle.isPending}
          onConfirm={() => toggle.mutate()}
          onClose={() => setIsConfirming(false)}
        >
          <p>{t('target.pauseHelp')}</p>
          <TextInput label={t('common.reason')} value={note} onChange={(event) => setNote(event.currentTarget.value)} />
        </ConfirmDialog>
      )}
    </>
  )
}
