import { Badge, Button, Progress, Select, Text, TextInput, VisuallyHidden } from '@mantine/core'
import { useMutation, useQuery } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import { useState } from 'react'

import { unwrap, api } from '../../api/client'
import { backfillsQuery, descriptionQuery, queryKey } from '../../api/queries'
import type { Backfill } from '../../api/types'
import { useIsAllowed } from '../../api/session'
import { useRefresh } from '../../api/refresh'
import { countText, parseInstant } from '../../lib/format'
import { Timestamp } from '../../components/Timestamp'
import { EmptyState, Loading, ErrorState } from '../../components/states'
import { showError, showToast } from '../../components/toasts'
import { useDisplayZone, zoneLabel } from '../../lib/timezones'
import classes from './Schedule.module.css'
import { useScheduleZone } from './useScheduleZone'

const route = getRouteApi('/schedules/$id/backfills')
const MAX_COUNTED = 1_000
const SELECTION_LABELS: Record<string, string> = { all: 'All of them', missing: 'Those that never ran', failed: 'Those that failed' }
const OVERLAP_LABELS: Record<string, string> = { queue: 'Wait in line', allow: 'Run side by side', skip: 'Skip' }
const selectData = (names: Record<string, string>) => Object.entries(names).map(([value, label]) => ({ value, label }))

/** Ranges of the past that are run again: asked for, watched, and stopped. */
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
        <EmptyState title="Nothing was backfilled">
          A backfill runs the ticks of a range of the past again, for instance those of an outage. It waits for the ticks of
          today, shows how far it is, and can be stopped.
        </EmptyState>
      ) : (
        <div className="panel scroll-x">
          <table className="plain-table">
            <thead>
              <tr>
                <th>Range</th>
                <th>Which</th>
                <th>State</th>
                <th style={{ minWidth: '12rem' }}>Progress</th>
                <th>Asked for</th>
                <th>
                <VisuallyHidden>Actions</VisuallyHidden>
              </th>
              </tr>
            </thead>
            <tbody>
              {query.data.map((backfill) => (
                <BackfillRow key={backfill.backfill_id} id={id} backfill={backfill} zone={zone} mayOperate={mayOperate} />
              ))}
            </tbody>
          </table>
        </div>
      )}
    </>
  )
}

function BackfillRow({ id, backfill, zone, mayOperate }: { id: string; backfill: Backfill; zone: string; mayOperate: boolean }) {
  const refresh = useRefresh()
  const cancel = useMutation({
    mutationFn: () =>
      unwrap(api.POST('/api/v1/backfills/{backfill_id}/cancel', { params: { path: { backfill_id: backfill.backfill_id } }, body: {} })),
    onSuccess: () => showToast('The backfill was stopped'),
    onError: showError,
    onSettled: () => refresh(id),
  })
  const percent = backfill.total === 0 ? 100 : (100 * backfill.done) / backfill.total
  const isRunning = backfill.state === 'RUNNING'
  return (
    <tr>
      <td>
        <Timestamp at={backfill.start} zone={zone} precision="minute" /> – <Timestamp at={backfill.end} zone={zone} precision="minute" />
      </td>
      <td>
        {SELECTION_LABELS[backfill.only] ?? backfill.only}
        <div className="dim small">{OVERLAP_LABELS[backfill.overlap] ?? backfill.overlap}</div>
      </td>
      <td>
        <Badge color={isRunning ? 'blue' : backfill.state === 'CANCELLED' ? 'gray' : 'verdigris'}>{backfill.state.toLowerCase()}</Badge>
      </td>
      <td>
        <Progress value={percent} aria-label={`${backfill.done} of ${backfill.total} ticks`} size="sm" mt={7} />
        <Text size="xs" className="dim">
          {backfill.done} of {countText(backfill.total, 'tick')}
          {backfill.undecided > 0 && `; ${backfill.undecided} left to the schedule itself`}
        </Text>
      </td>
      <td>
        <Timestamp at={backfill.created_at} zone={zone} />
      </td>
      <td>
        {mayOperate && isRunning && (
          <Button size="compact-xs" variant="default" loading={cancel.isPending} onClick={() => cancel.mutate()}>
            Stop
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
  const invalidTime = `No time in ${displayedZone}; such as 2026-01-31 09:00`
  const isReversed = start && end && start > end
  const startBackfill = useMutation({
    mutationFn: () =>
      unwrap(
        api.POST('/api/v1/schedules/{schedule_id}/backfills', {
          params: { path: { schedule_id: id } },
          body: { start: start!.toISOString(), end: end!.toISOString(), only, overlap },
        }),
      ),
    onSuccess: (backfills) => showToast(`${countText(backfills.reduce((sum, backfill) => sum + backfill.total, 0), 'tick')} will be run again`),
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
        label="From"
        placeholder="2026-01-31 09:00"
        required
        value={from}
        error={from && !start ? invalidTime : undefined}
        onChange={(event) => setFrom(event.currentTarget.value)}
      />
      <TextInput
        label="To, included"
        placeholder="2026-01-31 18:00"
        required
        value={to}
        error={to && !end ? invalidTime : isReversed ? 'Before its start' : undefined}
        onChange={(event) => setTo(event.currentTarget.value)}
      />
      <Select
        label="Which ticks"
        value={only}
        onChange={(value) => setOnly(value ?? 'all')}
        data={selectData(SELECTION_LABELS)}
      />
      <Select
        label="While one is running"
        value={overlap}
        onChange={(value) => setOverlap(value ?? 'queue')}
        data={selectData(OVERLAP_LABELS)}
      />
      <Button type="submit" loading={startBackfill.isPending} disabled={!start || !end || isReversed}>
        Run them again
      </Button>
      <Text size="xs" className="dim" w="100%">
        Times are in {zoneLabel(displayedZone)}. {start && end && !isReversed && <RangeCount id={id} start={start} end={end} />}
      </Text>
    </form>
  )
}

/** How many ticks a range has, before anything is run. */
function RangeCount({ id, start, end }: { id: string; start: Date; end: Date }) {
  const spec = useQuery(descriptionQuery(id)).data?.schedule.definition.spec
  const { data } = useQuery({
    queryKey: queryKey('schedule', id, 'count', start, end),
    queryFn: () =>
      unwrap(
        api.POST('/api/v1/preview', {
          body: { ...spec, schedule_id: id, after: new Date(start.getTime() - 1_000).toISOString(), count: MAX_COUNTED },
        }),
      ),
    enabled: spec !== undefined,
  })
  if (!data) return null
  const count = data.ticks.filter((tick) => Date.parse(tick.at) <= end.getTime()).length
  return <strong>The range has {count === MAX_COUNTED ? `${MAX_COUNTED} ticks or more` : countText(count, 'tick')}.</strong>
}
