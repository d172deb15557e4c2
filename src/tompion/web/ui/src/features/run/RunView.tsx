import { Button, Group, Text, Title } from '@mantine/core'
import { useMutation, useQuery } from '@tanstack/react-query'
import { getRouteApi, Link, useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { ApiError } from '../../api/errors'
import { useRefresh } from '../../api/mutations'
import { runQuery } from '../../api/queries'
import { changeRun, type RunAction } from '../../api/requests'
import { useIsAllowed } from '../../api/session'
import type { Run as RunType } from '../../api/types'
import { CodeBlock, CopyIcon } from '../../components/CodeBlock'
import { ConfirmDialog } from '../../components/ConfirmDialog'
import { DescriptionList } from '../../components/DescriptionList'
import { dstText, RunStatusLabel, reasonText } from '../../components/outcomes'
import { useTitle } from '../../components/PageHeader'
import { EmptyState, ErrorState, Loading } from '../../components/states'
import { Timestamp } from '../../components/Timestamp'
import { showError, showToast } from '../../components/toasts'
import { durationText } from '../../lib/format'
import { codeText, numberText, rich, t } from '../../messages'
import { useScheduleZone } from '../schedule/useScheduleZone'
import classes from './RunView.module.css'

const route = getRouteApi('/runs/$runId')
const OPEN_STATUSES = ['PLANNED', 'BUFFERED', 'ENQUEUED', 'STARTED']

/** One run: its status and timings, its error, output and input. */
export function RunView() {
  const { runId } = route.useParams()
  useTitle(t('run.title', { id: runId }))
  const query = useQuery(runQuery(runId))
  if (query.isPending) return <Loading />
  if (query.isError && !query.data) {
    if (query.error instanceof ApiError && query.error.status === 404)
      return <EmptyState title={t('run.notFound')}>{t('run.notFoundHelp', { id: runId })}</EmptyState>
    return <ErrorState error={query.error} onRetry={() => void query.refetch()} />
  }
  return <RunDetails run={query.data} />
}

function RunDetails({ run }: { run: RunType }) {
  const zone = useScheduleZone(run.schedule_id)
  const localTime = run.local_time?.replace('T', ' ')
  const isTextOutput = typeof run.result === 'string' // a command returns its output as text
  const resultTitle = t(isTextOutput ? 'run.output' : 'run.result')
  return (
    <>
      <header className={`panel ${classes.head}`}>
        <div className={classes.top}>
          <div>
            <Text size="sm">
              {rich('run.heading', {
                schedule: (
                  <Link to="/schedules/$id" params={{ id: run.schedule_id }} className="text-link">
                    {run.schedule_id}
                  </Link>
                ),
                source: <span className="dim">{codeText('runSource', run.source)}</span>,
              })}
            </Text>
            <Title order={1} className={classes.title}>
              <Timestamp at={run.run_at} zone={zone} /> <RunStatusLabel status={run.status} reason={run.reason} />
            </Title>
            {run.reason && <Text className="dim">{t('run.reason', { reason: reasonText(run.reason) })}</Text>}
            {run.dst_adjustment && (
              <Text className="dim">
                {t('run.localTimeNote', { zone, time: localTime ?? '', note: dstText(run.dst_adjustment) })}
              </Text>
            )}
          </div>
          <RunActions run={run} />
        </div>
        <Timings run={run} zone={zone} />
        <DescriptionList
          items={[
            [
              t('run.attempt'),
              run.attempt > 1 ? t('run.attemptOnlyLast', { attempt: run.attempt }) : numberText(run.attempt),
            ],
            [t('run.scheduleVersion'), String(run.definition_version)],
            [t('run.localTime', { zone }), localTime],
            [t('run.executionId'), run.execution_id],
            [
              t('run.runId'),
              <span key="id" className="mono">
                {run.run_id}
              </span>,
            ],
            [
              t('run.idempotencyKey'),
              <span key="key" className={classes.key}>
                <span className="mono">{run.idempotency_key}</span>
                <CopyIcon text={run.idempotency_key} name={t('common.copyOf', { name: t('run.idempotencyKey') })} />
              </span>,
            ],
          ]}
        />
      </header>
      {run.error !== null && (
        <Section title={t('run.error')}>
          <CodeBlock value={run.error} label={t('run.error')} />
        </Section>
      )}
      {run.progress !== null && run.progress !== undefined && (
        <Section title={t('run.progress')}>
          <CodeBlock value={run.progress} label={t('run.progress')} />
        </Section>
      )}
      <Section title={resultTitle}>
        {run.result === null || run.result === undefined ? (
          <Text className="dim" size="sm">
            {t(OPEN_STATUSES.includes(run.status) ? 'run.stillRunning' : 'run.noResult')}
          </Text>
        ) : (
          <CodeBlock value={run.result} label={resultTitle} />
        )}
      </Section>
      <Section title={t('run.input')}>
        {run.payload === null || run.payload === undefined ? (
          <Text className="dim" size="sm">
            {t('run.noInput')}
          </Text>
        ) : (
          <CodeBlock value={run.payload} label={t('run.input')} />
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

/** The steps of a run from its scheduled time to its end, with the time between them. */
function Timings({ run, zone }: { run: RunType; zone: string }) {
  const steps = [
    { name: t('run.scheduled'), at: run.run_at },
    { name: t('run.due'), at: run.fire_at },
    { name: t('run.queued'), at: run.created_at },
    { name: t('run.started'), at: run.started_at },
    { name: t('run.finished'), at: run.finished_at },
  ].filter((step) => step.at)
  return (
    <ol className={classes.steps} aria-label={t('run.timings')}>
      {steps.map((step, index) => {
        const before = steps[index - 1]
        const elapsed = before ? Date.parse(step.at!) - Date.parse(before.at!) : null
        return (
          <li key={step.name}>
            <span className="dim">{step.name}</span>
            <Timestamp at={step.at} zone={zone} precision="millisecond" short={index > 0} />
            {elapsed !== null && <span className={classes.after}>{`+${durationText(elapsed)}`}</span>}
          </li>
        )
      })}
    </ol>
  )
}

const DONE_MESSAGES = { cancel: 'run.cancelRequested', terminate: 'run.terminated', retry: 'run.retryStarted' } as const

function RunActions({ run }: { run: RunType }) {
  const mayOperate = useIsAllowed('operator')
  const navigate = useNavigate()
  const refresh = useRefresh()
  const [openDialog, setOpenDialog] = useState<RunAction | null>(null)
  const mutation = useMutation({
    mutationFn: (action: RunAction) => changeRun(action, run.run_id),
    onSuccess: (result, action) => {
      showToast(t(DONE_MESSAGES[action]))
      setOpenDialog(null)
      if (action === 'retry') void navigate({ to: '/runs/$runId', params: { runId: result.run_id } })
    },
    onError: showError,
    onSettled: () => refresh(run.schedule_id),
  })
  if (!mayOperate) return null
  const isOpen = OPEN_STATUSES.includes(run.status)
  return (
    <Group gap="xs" align="flex-start">
      {isOpen ? (
        <>
          <Button variant="default" loading={mutation.isPending} onClick={() => mutation.mutate('cancel')}>
            {t('run.cancel')}
          </Button>
          <Button variant="default" onClick={() => setOpenDialog('terminate')}>
            {t('run.terminateMore')}
          </Button>
        </>
      ) : (
        <Button variant="default" loading={mutation.isPending} onClick={() => mutation.mutate('retry')}>
          {t('run.retry')}
        </Button>
      )}
      {openDialog === 'terminate' && (
        <ConfirmDialog
          title={t('run.terminateTitle')}
          confirmLabel={t('run.terminate')}
          isDangerous
          busy={mutation.isPending}
          onConfirm={() => mutation.mutate('terminate')}
          onClose={() => setOpenDialog(null)}
        >
          <Text size="sm">{t('run.terminateHelp')}</Text>
        </ConfirmDialog>
      )}
    </Group>
  )
}
