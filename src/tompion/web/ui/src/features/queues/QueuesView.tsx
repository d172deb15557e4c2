import { Badge, Button, TextInput } from '@mantine/core'
import { useMutation, useQuery } from '@tanstack/react-query'
import { useState } from 'react'

import { unwrap, api } from '../../api/client'
import { queuesQuery } from '../../api/queries'
import type { Queue } from '../../api/types'
import { useIsAllowed } from '../../api/session'
import { useRefresh } from '../../api/refresh'
import { ConfirmDialog } from '../../components/ConfirmDialog'
import { DataTable, type Column } from '../../components/DataTable'
import { RelativeTime } from '../../components/Timestamp'
import { EmptyState } from '../../components/states'
import { PageHeader } from '../../components/PageHeader'
import { TargetPausedBadge } from '../../components/TargetPausedBadge'
import { showError, showToast } from '../../components/toasts'

const COLUMNS: Column<Queue>[] = [
  { name: 'Queue', cell: (queue) => queue.queue },
  { name: 'State', cell: (queue) => <QueueState queue={queue} /> },
  { name: 'Served by', cell: (queue) => queue.served_by },
  { name: 'Waiting', cell: (queue) => queue.waiting.toLocaleString('en-GB') },
  { name: 'The oldest since', cell: (queue) => (queue.waiting_since ? <RelativeTime at={queue.waiting_since} /> : '–') },
]

/** Who serves which queue, what waits there, and the switch that lets ticks wait. */
export function QueuesView() {
  const query = useQuery(queuesQuery())
  const mayOperate = useIsAllowed('operator')
  return (
    <>
      <PageHeader title="Queues" />
      <DataTable
        query={query}
        items={query.data ?? []}
        keyOf={(queue) => queue.queue}
        columns={COLUMNS}
        actions={mayOperate ? (queue) => <QueuePauseButton queue={queue} /> : undefined}
        empty={
          <EmptyState title="No queue is served yet">
            <p>A queue is where runs wait for somebody who executes them. A worker serves those that it names:</p>
            <pre className="raw">tompion worker --queue reports</pre>
          </EmptyState>
        }
      />
    </>
  )
}

function QueueState({ queue }: { queue: Queue }) {
  if (queue.paused) return <TargetPausedBadge target="queue" name={queue.queue} />
  return queue.served_by === 0 ? <Badge color="red">nobody serves it</Badge> : <Badge color="verdigris">served</Badge>
}

function QueuePauseButton({ queue: { queue, paused } }: { queue: Queue }) {
  const refresh = useRefresh()
  const [isConfirming, setIsConfirming] = useState(false)
  const [note, setNote] = useState('')
  const path = { queue }
  const toggle = useMutation<unknown, Error, boolean>({
    mutationFn: (pause) =>
      pause
        ? unwrap(api.POST('/api/v1/queues/{queue}/pause', { params: { path }, body: note ? { note } : {} }))
        : unwrap(api.POST('/api/v1/queues/{queue}/resume', { params: { path }, body: {} })),
    onSuccess: (_, pause) => {
      showToast(pause ? `Queue ${queue} is paused: its ticks wait` : `Queue ${queue} goes on`)
      setIsConfirming(false)
    },
    onError: showError,
    onSettled: () => refresh(),
  })
  if (paused)
    return (
      <Button size="compact-xs" variant="default" loading={toggle.isPending} onClick={() => toggle.mutate(false)} aria-label={`Resume queue ${queue}`}>
        Resume
      </Button>
    )
  return (
    <>
      <Button size="compact-xs" variant="default" onClick={() => setIsConfirming(true)} aria-label={`Pause queue ${queue}`}>
        Pause
      </Button>
      {isConfirming && (
        <ConfirmDialog title={`Pause queue ${queue}?`} confirmLabel="Pause" cancelLabel="Leave it running" busy={toggle.isPending} onConfirm={() => toggle.mutate(true)} onClose={() => setIsConfirming(false)}>
          <p>Ticks of its schedules are still recorded, and wait until it goes on. What runs already is not touched.</p>
          <TextInput label="Why" value={note} onChange={(event) => setNote(event.currentTarget.value)} />
        </ConfirmDialog>
      )}
    </>
  )
}
