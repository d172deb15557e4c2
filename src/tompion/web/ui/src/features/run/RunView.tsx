import { Button, Group, Text, Title } from '@mantine/core'
import { useMutation, useQuery } from '@tanstack/react-query'
import { getRouteApi, Link, useNavigate } from '@tanstack/react-router'
import { useState } from 'react'

import { answer, api } from '../../api/client'
import { Problem } from '../../api/problem'
import { runQuery } from '../../api/queries'
import type { Run as RunType } from '../../api/types'
import { useMay } from '../../api/session'
import { useRefresh } from '../../api/refresh'
import { Ask } from '../../components/ConfirmDialog'
import { Facts } from '../../components/DescriptionList'
import { durationText } from '../../lib/format'
import { Moment } from '../../components/Timestamp'
import { Empty, Waiting, Wrong } from '../../components/states'
import { movedText, reasonText, StateMark } from '../../components/outcomes'
import { useTitle } from '../../components/PageHeader'
import { RawText, Copy } from '../../components/CodeBlock'
import { complain, say } from '../../components/toasts'
import { useZone } from '../schedule/useScheduleZone'
import classes from './RunView.module.css'

const route = getRouteApi('/runs/$runId')
const OPEN = ['PLANNED', 'BUFFERED', 'ENQUEUED', 'STARTED']

/** One run: when it was to start and when it did, how it ended, and what it said. */
export function Run() {
  const { runId } = route.useParams()
  useTitle(`Run ${runId}`)
  const query = useQuery(runQuery(runId))
  if (query.isPending) return <Waiting />
  if (query.isError && !query.data) {
    if (query.error instanceof Problem && query.error.status === 404)
      return <Empty title={`There is no run ${runId}`}>Runs are kept for as long as the retention says, 30 days by default.</Empty>
    return <Wrong error={query.error} onRetry={() => void query.refetch()} />
  }
  return <Shown run={query.data} />
}

function Shown({ run }: { run: RunType }) {
  const zone = useZone(run.schedule_id)
  const said = typeof run.result === 'string' // text is what it wrote, anything else what it returned
  return (
    <>
      <header className={`panel ${classes.head}`}>
        <div className={classes.top}>
          <div>
            <Text size="sm">
              <Link to="/schedules/$id" params={{ id: run.schedule_id }} className="text-link">
                {run.schedule_id}
              </Link>
              <span className="dim"> · {run.source === 'schedule' ? 'a tick of its own' : run.source}</span>
            </Text>
            <Title order={1} className={classes.title}>
              <Moment at={run.scheduled_for} zone={zone} /> <StateMark state={run.state} reason={run.reason} />
            </Title>
            {run.reason && <Text className="dim">It is so because {reasonText(run.reason)}.</Text>}
            {run.moved && (
              <Text className="dim">
                Local time in {zone} {run.local_time?.replace('T', ' ')}: {movedText(run.moved)}.
              </Text>
            )}
          </div>
          <Actions run={run} />
        </div>
        <Timings run={run} zone={zone} />
        <Facts
          facts={[
            ['Attempt', run.attempt > 1 ? `${run.attempt}; of those before it only the number is kept` : String(run.attempt)],
            ['Version', String(run.version)],
            [`Local time in ${zone}`, run.local_time?.replace('T', ' ')],
            ['Execution', run.execution_id],
            ['Run', <span className="mono">{run.run_id}</span>],
            [
              'Idempotency key',
              <span className={classes.key}>
                <span className="mono">{run.key}</span>
                <Copy text={run.key} name="Copy the key" />
              </span>,
            ],
          ]}
        />
      </header>
      {run.error !== null && (
        <Part title="Error">
          <RawText value={run.error} label="the error" />
        </Part>
      )}
      {run.progress !== null && run.progress !== undefined && (
        <Part title="Progress">
          <RawText value={run.progress} label="the progress" />
        </Part>
      )}
      <Part title={said ? 'Output' : 'Result'}>
        {run.result === null || run.result === undefined ? (
          <Text className="dim" size="sm">
            {OPEN.includes(run.state) ? 'It is not over yet.' : 'It has returned nothing.'}
          </Text>
        ) : (
          <RawText value={run.result} label={said ? 'the output' : 'the result'} />
        )}
      </Part>
      <Part title="Payload">
        {run.payload === null || run.payload === undefined ? (
          <Text className="dim" size="sm">
            It was given none.
          </Text>
        ) : (
          <RawText value={run.payload} label="the payload" />
        )}
      </Part>
    </>
  )
}

function Part({ title, children }: { title: string; children: React.ReactNode }) {
  return (
    <section className={classes.part}>
      <Title order={2} mb={6}>
        {title}
      </Title>
      {children}
    </section>
  )
}

/** From the tick to the end, and how long each step took. */
function Timings({ run, zone }: { run: RunType; zone: string }) {
  const steps = [
    { name: 'Tick', at: run.scheduled_for },
    { name: 'To fire', at: run.fire_at },
    { name: 'Decided', at: run.decided_at },
    { name: 'Started', at: run.started_at },
    { name: 'Over', at: run.finished_at },
  ].filter((step) => step.at)
  return (
    <ol className={classes.steps} aria-label="Timings">
      {steps.map((step, index) => {
        const before = steps[index - 1]
        const after = before ? Date.parse(step.at!) - Date.parse(before.at!) : null
        return (
          <li key={step.name}>
            <span className="dim">{step.name}</span>
            <Moment at={step.at} zone={zone} precision="millisecond" near={index > 0} />
            {after !== null && <span className={classes.after}>+{durationText(after)}</span>}
          </li>
        )
      })}
    </ol>
  )
}

type Deed = 'cancel' | 'terminate' | 'retry'

function Actions({ run }: { run: RunType }) {
  const mayOperate = useMay('operator')
  const navigate = useNavigate()
  const refresh = useRefresh()
  const [asking, setAsking] = useState<Deed | null>(null)
  const path = { run_id: run.run_id }
  const act = useMutation({
    mutationFn: (deed: Deed) => {
      if (deed === 'cancel') return answer(api.POST('/api/v1/runs/{run_id}/cancel', { params: { path }, body: {} }))
      if (deed === 'terminate') return answer(api.POST('/api/v1/runs/{run_id}/terminate', { params: { path }, body: {} }))
      return answer(api.POST('/api/v1/runs/{run_id}/retry', { params: { path }, body: {} }))
    },
    onSuccess: (done, deed) => {
      say(deed === 'retry' ? 'Another run was made' : deed === 'cancel' ? 'It was asked to end' : 'It counts as ended')
      setAsking(null)
      if (deed === 'retry') void navigate({ to: '/runs/$runId', params: { runId: done.run_id } })
    },
    onError: complain,
    onSettled: () => refresh(run.schedule_id),
  })
  if (!mayOperate) return null
  const open = OPEN.includes(run.state)
  return (
    <Group gap="xs" align="flex-start">
      {open ? (
        <>
          <Button variant="default" loading={act.isPending} onClick={() => act.mutate('cancel')}>
            Cancel
          </Button>
          <Button variant="default" onClick={() => setAsking('terminate')}>
            Terminate…
          </Button>
        </>
      ) : (
        <Button variant="default" loading={act.isPending} onClick={() => act.mutate('retry')}>
          Run it once more
        </Button>
      )}
      {asking === 'terminate' && (
        <Ask title="End this run by force?" yes="Terminate it" danger busy={act.isPending} onYes={() => act.mutate('terminate')} onClose={() => setAsking(null)}>
          <Text size="sm">It counts as ended at once, whatever executes it does or says from then on.</Text>
        </Ask>
      )}
    </Group>
  )
}
