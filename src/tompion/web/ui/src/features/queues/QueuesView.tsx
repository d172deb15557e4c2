import { Badge, Button, TextInput } from '@mantine/core'
import { useMutation, useQuery } from '@tanstack/react-query'
import { useState } from 'react'

import { answer, api } from '../../api/client'
import { queuesQuery } from '../../api/queries'
import type { Queue } from '../../api/types'
import { useMay } from '../../api/session'
import { useRefresh } from '../../api/refresh'
import { Ask } from '../../components/ConfirmDialog'
import { Listing, type Column } from '../../components/DataTable'
import { Relative } from '../../components/Timestamp'
import { Empty } from '../../components/states'
import { PageHead } from '../../components/PageHeader'
import { TargetPaused } from '../../components/TargetPausedBadge'
import { complain, say } from '../../components/toasts'

const COLUMNS: Column<Queue>[] = [
  { name: 'Queue', cell: (each) => each.queue },
  { name: 'State', cell: (each) => <State queue={each} /> },
  { name: 'Served by', cell: (each) => each.served_by },
  { name: 'Waiting', cell: (each) => each.waiting.toLocaleString('en-GB') },
  { name: 'The oldest since', cell: (each) => (each.waiting_since ? <Relative at={each.waiting_since} /> : '–') },
]

/** Who serves which queue, what waits there, and the switch that lets ticks wait. */
export function Targets() {
  const found = useQuery(queuesQuery())
  const mayOperate = useMay('operator')
  return (
    <>
      <PageHead title="Queues" />
      <Listing
        query={found}
        items={found.data ?? []}
        keyOf={(each) => each.queue}
        columns={COLUMNS}
        act={mayOperate ? (each) => <Switch queue={each} /> : undefined}
        empty={
          <Empty title="No queue is served yet">
            <p>A queue is where runs wait for somebody who executes them. A worker serves those that it names:</p>
            <pre className="raw">tompion worker --queue reports</pre>
          </Empty>
        }
      />
    </>
  )
}

function State({ queue }: { queue: Queue }) {
  if (queue.paused) return <TargetPaused target="queue" name={queue.queue} />
  return queue.served_by === 0 ? <Badge color="red">nobody serves it</Badge> : <Badge color="verdigris">served</Badge>
}

function Switch({ queue: { queue, paused } }: { queue: Queue }) {
  const refresh = useRefresh()
  const [asking, setAsking] = useState(false)
  const [note, setNote] = useState('')
  const path = { queue }
  const act = useMutation<unknown, Error, boolean>({
    mutationFn: (pause) =>
      pause
        ? answer(api.POST('/api/v1/queues/{queue}/pause', { params: { path }, body: note ? { note } : {} }))
        : answer(api.POST('/api/v1/queues/{queue}/resume', { params: { path }, body: {} })),
    onSuccess: (_, pause) => {
      say(pause ? `Queue ${queue} is paused: its ticks wait` : `Queue ${queue} goes on`)
      setAsking(false)
    },
    onError: complain,
    onSettled: () => refresh(),
  })
  if (paused)
    return (
      <Button size="compact-xs" variant="default" loading={act.isPending} onClick={() => act.mutate(false)} aria-label={`Resume queue ${queue}`}>
        Resume
      </Button>
    )
  return (
    <>
      <Button size="compact-xs" variant="default" onClick={() => setAsking(true)} aria-label={`Pause queue ${queue}`}>
        Pause
      </Button>
      {asking && (
        <Ask title={`Pause queue ${queue}?`} yes="Pause" no="Leave it running" busy={act.isPending} onYes={() => act.mutate(true)} onClose={() => setAsking(false)}>
          <p>Ticks of its schedules are still recorded, and wait until it goes on. What runs already is not touched.</p>
          <TextInput label="Why" value={note} onChange={(event) => setNote(event.currentTarget.value)} />
        </Ask>
      )}
    </>
  )
}
