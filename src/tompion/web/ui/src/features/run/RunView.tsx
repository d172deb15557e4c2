import { Button, Group, Text, Title } from '@mantine/core'
import { useMutation, useQuery } from '@tanstack/react-query'
import { getRouteApi, Link, useNavigate } from '@tanstack/react-router'
import { useState } from 'react'

import { unwrap, api } from '../../api/client'
import { ApiError } from '../../api/errors'
import { runQuery } from '../../api/queries'
import type { Run as RunType } from '../../api/types'
import { useIsAllowed } from '../../api/session'
import { useRefresh } from '../../api/refresh'
import { ConfirmDialog } from '../../components/ConfirmDialog'
import { DescriptionList } from '../../components/DescriptionList'
import { durationText } from '../../lib/format'
import { Timestamp } from '../../components/Timestamp'
import { EmptyState, Loading, ErrorState } from '../../components/states'
import { dstText, reasonText, RunStateLabel } from '../../components/outcomes'
import { useTitle } from '../../components/PageHeader'
import { CodeBlock, CopyIcon } from '../../components/CodeBlock'
import { showError, showToast } from '../../components/toasts'
import { useScheduleZone } from '../schedule/useScheduleZone'
import classes from './RunView.module.css'

const route = getRouteApi('/runs/$runId')
const OPEN_STATES = ['PLANNED', 'BUFFERED', 'ENQUEUED', 'STARTED']

/** One run: when it was to start and when it did, how it ended, and what it said. */
export function RunView() {
  const { runId } = route.useParams()
  useTitle(`Run ${runId}`)
  const query = useQuery(runQuery(runId))
  if (query.isPending) return <Loading />
  if (query.isError && !query.data) {
    if (query.error instanceof ApiError && query.error.status === 404)
      return <EmptyState title={`There is no run ${runId}`}>Runs are kept for as long as the retention says, 30 days by default.</EmptyState>
    return <ErrorState error={query.error} onRetry={() => void query.refetch()} />
  }
  return <RunDetails run={query.data} />
}

function RunDetails({ run }: { run: RunType }) {
  const zone = useScheduleZone(run.schedule_id)
  const isTextOutput = typeof run.result === 'string' // text is what it wrote, anything else what it returned
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
              <Timestamp at={run.scheduled_for} zone={zone} /> <RunStateLabel state={run.state} reason={run.reason} />
            </Title>
            {run.reason && <Text className="dim">It is so because {reasonText(run.reason)}.</Text>}
            {run.moved && (
              <Text className="dim">
                Local time in {zone} {run.local_time?.replace('T', ' ')}: {dstText(run.moved)}.
              </Text>
            )}
          </div>
          <RunActions run={run} />
        </div>
        <Timings run={run} zone={zone} />
        <DescriptionList
          items={[
            ['Attempt', run.attempt > 1 ? `${run.attempt}; of those before it only the number is kept` : String(run.attempt)],
            ['Version', String(run.version)],
            [`Local time in ${zone}`, run.local_time?.replace('T', ' ')],
            ['Execution', run.execution_id],
            ['Run', <span className="mono">{run.run_id}</span>],
            [
              'Idempotency key',
              <span className={classes.key}>
                <span className="mono">{run.key}</span>
                <CopyIcon text={run.key} name="Copy the key" />
              </span>,
            ],
          ]}
        />
      </header>
      {run.error !== null && (
        <Section title="Error">
          <CodeBlock value={run.error} label="the error" />
        </Section>
      )}
      {run.progress !== null && run.progress !== undefined && (
        <Section title="Progress">
          <CodeBlock value={run.progress} label="the progress" />
        </Section>
      )}
      <Section title={isTextOutput ? 'Output' : 'Result'}>
        {run.result === null || run.result === undefined ? (
          <Text className="dim" size="sm">
            {OPEN_STATES.includes(run.state) ? 'It is not over yet.' : 'It has returned nothing.'}
          </Text>
        ) : (
          <CodeBlock value={run.result} label={isTextOutput ? 'the output' : 'the result'} />
        )}
      </Section>
      <Section title="Payload">
        {run.payload === null || run.payload === undefined ? (
          <Text className="dim" size="sm">
            It was given none.
          </Text>
        ) : (
          <CodeBlock value={run.payload} label="the payload" />
        )}
      </Section>
    </>
  )
}

function Section({ title, children }: { title: string; children: React.ReactNode }) {
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
        const elapsed = before ? Date.parse(step.at!) - Date.parse(before.at!) : null
        return (
          <li key={step.name}>
            <span className="dim">{step.name}</span>
            <Timestamp at={step.at} zone={zone} precision="millisecond" short={index > 0} />
            {elapsed !== null && <span className={classes.after}>+{durationText(elapsed)}</span>}
          </li>
        )
      })}
    </ol>
  )
}

type RunAction = 'cancel' | 'terminate' | 'retry'

function RunActions({ run }: { run: RunType }) {
  const mayOperate = useIsAllowed('operator')
  const navigate = useNavigate()
  const refresh = useRefresh()
  const [openDialog, setOpenDialog] = useState<RunAction | null>(null)
  const path = { run_id: run.run_id }
  const mutation = useMutation({
    mutationFn: (action: RunAction) => {
      if (action === 'cancel') return unwrap(api.POST('/api/v1/runs/{run_id}/cancel', { params: { path }, body: {} }))
      if (action === 'terminate') return unwrap(api.POST('/api/v1/runs/{run_id}/terminate', { params: { path }, body: {} }))
      return unwrap(api.POST('/api/v1/runs/{run_id}/retry', { params: { path }, body: {} }))
    },
    onSuccess: (result, action) => {
      showToast(action === 'retry' ? 'Another run was made' : action === 'cancel' ? 'It was asked to end' : 'It counts as ended')
      setOpenDialog(null)
      if (action === 'retry') void navigate({ to: '/runs/$runId', params: { runId: result.run_id } })
    },
    onError: showError,
    onSettled: () => refresh(run.schedule_id),
  })
  if (!mayOperate) return null
  const isOpen = OPEN_STATES.includes(run.state)
  return (
    <Group gap="xs" align="flex-start">
      {isOpen ? (
        <>
          <Button variant="default" loading={mutation.isPending} onClick={() => mutation.mutate('cancel')}>
            Cancel
          </Button>
          <Button variant="default" onClick={() => setOpenDialog('terminate')}>
            Terminate…
          </Button>
        </>
      ) : (
        <Button variant="default" loading={mutation.isPending} onClick={() => mutation.mutate('retry')}>
          Run it once more
        </Button>
      )}
      {openDialog === 'terminate' && (
        <ConfirmDialog title="End this run by force?" confirmLabel="Terminate it" isDangerous busy={mutation.isPending} onConfirm={() => mutation.mutate('terminate')} onClose={() => setOpenDialog(null)}>
          <Text size="sm">It counts as ended at once, whatever executes it does or says from then on.</Text>
        </ConfirmDialog>
      )}
    </Group>
  )
}
