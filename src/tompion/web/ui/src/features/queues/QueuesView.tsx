import { Badge, Button, TextInput } from '@mantine/core'
import { useMutation, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { useRefresh } from '../../api/mutations'
import { queuesQuery } from '../../api/queries'
import { setTargetPaused } from '../../api/requests'
import { useIsAllowed } from '../../api/session'
import type { Queue } from '../../api/types'
import { ConfirmDialog } from '../../components/ConfirmDialog'
import { type Column, DataTable } from '../../components/DataTable'
import { PageHeader } from '../../components/PageHeader'
import { EmptyState } from '../../components/states'
import { TargetPausedBadge } from '../../components/TargetPausedBadge'
import { RelativeTime } from '../../components/Timestamp'
import { showError, showToast } from '../../components/toasts'
import { NO_VALUE } from '../../lib/format'
import { numberText, t } from '../../messages'

const WORKER_COMMAND = 'tompion worker --queue reports'

const COLUMNS: Column<Queue>[] = [
  { name: t('common.queue'), cell: (queue) => queue.queue },
  { name: t('common.state'), cell: (queue) => <QueueState queue={queue} /> },
  { name: t('queues.workers'), cell: (queue) => queue.served_by },
  { name: t('queues.waiting'), cell: (queue) => numberText(queue.waiting) },
  {
    name: t('queues.oldest'),
    cell: (queue) => (queue.waiting_since ? <RelativeTime at={queue.waiting_since} /> : NO_VALUE),
  },
]

/** The queues with their workers and waiting runs, and a button to pause each. */
export function QueuesView() {
  const query = useQuery(queuesQuery())
  const mayOperate = useIsAllowed('operator')
  return (
    <>
      <PageHeader title={t('nav.queues')} />
      <DataTable
        query={query}
        items={query.data ?? []}
        keyOf={(queue) => queue.queue}
        columns={COLUMNS}
        actions={mayOperate ? (queue) => <QueuePauseButton queue={queue} /> : undefined}
        empty={
          <EmptyState title={t('queues.none')}>
            <p>{t('queues.noneHelp')}</p>
            <pre className="raw">{WORKER_COMMAND}</pre>
          </EmptyState>
        }
      />
    </>
  )
}

function QueueState({ queue }: { queue: Queue }) {
  if (queue.paused) return <TargetPausedBadge target="queue" name={queue.queue} />
  return queue.served_by === 0 ? (
    <Badge color="red">{t('queues.noWorkers')}</Badge>
  ) : (
    <Badge color="verdigris">{t('common.active')}</Badge>
  )
}

function QueuePauseButton({ queue: { queue, paused } }: { queue: Queue }) {
  const refresh = useRefresh()
  const [isConfirming, setIsConfirming] = useState(false)
  const [note, setNote] = useState('')
  const toggle = useMutation<unknown, Error, boolean>({
    mutationFn: (pause) => setTargetPaused('queue', queue, pause, note),
    onSuccess: (_, pause) => {
      showToast(t(pause ? 'target.queuePaused' : 'target.queueResumed', { name: queue }))
      setIsConfirming(false)
    },
    onError: showError,
    onSettled: () => refresh(),
  })
  if (paused)
    return (
      <Button
        size="compact-xs"
        variant="default"
        loading={toggle.isPending}
        onClick={() => toggle.mutate(false)}
        aria-label={t('target.resumeQueue', { name: queue })}
      >
        {t('common.resume')}
      </Button>
    )
  return (
    <>
      <Button
        size="compact-xs"
        variant="default"
        onClick={() => setIsConfirming(true)}
        aria-label={t('target.pauseQueue', { name: queue })}
      >
        {t('common.pause')}
      </Button>
      {isConfirming && (
        <ConfirmDialog
          title={t('target.pauseTitle', { name: queue })}
          confirmLabel={t('common.pause')}
          busy={toggle.isPending}
          onConfirm={() => toggle.mutate(true)}
          onClose={() => setIsConfirming(false)}
        >
          <p>{t('target.pauseHelp')}</p>
          <TextInput label={t('common.reason')} value={note} onChange={(event) => setNote(event.currentTarget.value)} />
        </ConfirmDialog>
      )}
    </>
  )
}
