import { Badge, Button, Progress, Select, Text, TextInput, VisuallyHidden } from '@mantine/core'
import { useMutation, useQuery } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import { useState } from 'react'
import { useRefresh } from '../../api/mutations'
import { backfillsQuery, descriptionQuery, ticksFromQuery } from '../../api/queries'
import { cancelBackfill, createBackfill } from '../../api/requests'
import { useIsAllowed } from '../../api/session'
import type { Backfill } from '../../api/types'
import { EmptyState, ErrorState, Loading } from '../../components/states'
import { Timestamp } from '../../components/Timestamp'
import { showError, showToast } from '../../components/toasts'
import { parseInstant } from '../../lib/format'
import { useDisplayZone, zoneLabel } from '../../lib/timezones'
import { codeText, rich, t } from '../../messages'
import classes from './Schedule.module.css'
import { useScheduleZone } from './useScheduleZone'

const route = getRouteApi('/schedules/$id/backfills')
const MAX_COUNTED = 1_000
const SELECTION_LABELS: Record<string, string> = {
  all: t('backfill.all'),
  missing: t('backfill.missing'),
  failed: t('backfill.failed'),
}
const OVERLAP_LABELS: Record<string, string> = {
  queue: t('backfill.queue'),
  allow: t('backfill.allow'),
  skip: t('backfill.skip'),
}
const selectData = (names: Record<string, string>) => Object.entries(names).map(([value, label]) => ({ value, label }))

/** Backfills of a schedule: a form to start one, and the progress of all. */
export function BackfillsTab() {
  const { id } = route.useParams()
  const zone = useScheduleZone(id)
  const mayOperate = useIsAllowed('operator')
  const query = useQuery(backfillsQuery(id))
  if (query.isPending) return <Loading />
  if (query.isError) return <ErrorState error={query.error} onRetry={() => void query.refetch()} />
  return (
    <>
      {mayOperate && <BackfillForm id={id} zone={zone} />}
      {query.data.length === 0 ? (
        <EmptyState title={t('backfill.none')}>{t('backfill.noneHelp')}</EmptyState>
      ) : (
        <div className="panel scroll-x">
          <table className="plain-table">
            <thead>
              <tr>
                <th>{t('common.timeRange')}</th>
                <th>{t('backfill.reprocess')}</th>
                <th>{t('common.state')}</th>
                <th style={{ minWidth: '12rem' }}>{t('backfill.progress')}</th>
                <th>{t('backfill.requested')}</th>
                <th>
                  <VisuallyHidden>{t('common.actions')}</VisuallyHidden>
                </th>
              </tr>
            </thead>
            <tbody>
              {query.data.map((backfill) => (
                <BackfillRow
                  key={backfill.backfill_id}
                  id={id}
                  backfill={backfill}
                  zone={zone}
                  mayOperate={mayOperate}
                />
              ))}
            </tbody>
          </table>
        </div>
      )}
    </>
  )
}

function BackfillRow({
  id,
  backfill,
  zone,
  mayOperate,
}: {
  id: string
  backfill: Backfill
  zone: string
  mayOperate: boolean
}) {
  const refresh = useRefresh()
  const cancel = useMutation({
    mutationFn: () => cancelBackfill(backfill.backfill_id),
    onSuccess: () => showToast(t('backfill.cancelled')),
    onError: showError,
    onSettled: () => refresh(id),
  })
  const percent = backfill.total === 0 ? 100 : (100 * backfill.done) / backfill.total
  const doneText = t('backfill.done', { done: backfill.done, count: backfill.total })
  const isRunning = backfill.status === 'RUNNING'
  return (
    <tr>
      <td>
        {rich('backfill.range', {
          start: <Timestamp at={backfill.start} zone={zone} precision="minute" />,
          end: <Timestamp at={backfill.end} zone={zone} precision="minute" />,
        })}
      </td>
      <td>
        {SELECTION_LABELS[backfill.only] ?? backfill.only}
        <div className="dim small">{OVERLAP_LABELS[backfill.overlap_policy] ?? backfill.overlap_policy}</div>
      </td>
      <td>
        <Badge color={isRunning ? 'blue' : backfill.status === 'CANCELLED' ? 'gray' : 'verdigris'}>
          {codeText('backfillState', backfill.status)}
        </Badge>
      </td>
      <td>
        <Progress value={percent} aria-label={doneText} size="sm" mt={7} />
        <Text size="xs" className="dim">
          {doneText}
          {backfill.undecided > 0 && t('backfill.undecided', { count: backfill.undecided })}
        </Text>
      </td>
      <td>
        <Timestamp at={backfill.created_at} zone={zone} />
      </td>
      <td>
        {mayOperate && isRunning && (
          <Button size="compact-xs" variant="default" loading={cancel.isPending} onClick={() => cancel.mutate()}>
            {t('backfill.cancel')}
          </Button>
        )}
      </td>
    </tr>
  )
}

function BackfillForm({ id, zone }: { id: string; zone: string }) {
  const refresh = useRefresh()
  const [from, setFrom] = useState('')
  const [to, setTo] = useState('')
  const [only, setOnly] = useState('all')
  const [overlap, setOverlap] = useState('queue')
  const displayedZone = useDisplayZone(zone)
  const [start, end] = [parseInstant(from, displayedZone), parseInstant(to, displayedZone)]
  const invalidTime = t('backfill.invalidTime', { zone: displayedZone })
  const isReversed = start && end && start > end
  const startBackfill = useMutation({
    mutationFn: () => createBackfill(id, { start: start!.toISOString(), end: end!.toISOString(), only, overlap }),
    onSuccess: (backfills) =>
      showToast(t('backfill.started', { count: backfills.reduce((sum, backfill) => sum + backfill.total, 0) })),
    onError: showError,
    onSettled: () => refresh(id),
  })
  return (
    <form
      className={`panel ${classes.form}`}
      onSubmit={(event) => {
        event.preventDefault()
        startBackfill.mutate()
      }}
    >
      <TextInput
        label={t('backfill.start')}
        placeholder="2026-01-31 09:00"
        required
        value={from}
        error={from && !start ? invalidTime : undefined}
        onChange={(event) => setFrom(event.currentTarget.value)}
      />
      <TextInput
        label={t('backfill.end')}
        placeholder="2026-01-31 18:00"
        required
        value={to}
        error={to && !end ? invalidTime : isReversed ? t('backfill.endBeforeStart') : undefined}
        onChange={(event) => setTo(event.currentTarget.value)}
      />
      <Select
        label={t('backfill.reprocess')}
        value={only}
        onChange={(value) => setOnly(value ?? 'all')}
        data={selectData(SELECTION_LABELS)}
      />
      <Select
        label={t('backfill.overlap')}
        value={overlap}
        onChange={(value) => setOverlap(value ?? 'queue')}
        data={selectData(OVERLAP_LABELS)}
      />
      <Button type="submit" loading={startBackfill.isPending} disabled={!start || !end || isReversed}>
        {t('backfill.begin')}
      </Button>
      <Text size="xs" className="dim" w="100%">
        {t('backfill.times', { zone: zoneLabel(displayedZone) })}{' '}
        {start && end && !isReversed && <RangeCount id={id} start={start} end={end} />}
      </Text>
    </form>
  )
}

/** The number of runs that a backfill of a range would start. */
function RangeCount({ id, start, end }: { id: string; start: Date; end: Date }) {
  const schedule = useQuery(descriptionQuery(id)).data?.schedule
  const { data } = useQuery(ticksFromQuery(id, schedule, start, MAX_COUNTED))
  if (!data) return null
  const count = data.ticks.filter((tick) => Date.parse(tick.at) <= end.getTime()).length
  return (
    <strong>
      {count === MAX_COUNTED ? t('backfill.manyWillStart', { count }) : t('backfill.willStart', { count })}
    </strong>
  )
}
